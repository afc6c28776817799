/** A repeated measurement: its median and interquartile range. */
export interface Figure {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** The measurements of one candidate, by column; null if a column has no value. */
export interface Row {
  readonly name: string
  readonly figures: readonly (Figure | null)[]
}

/** The target of a row in one column: a multiple of another row, or an absolute value. */
export interface Target {
  readonly ours: string
  readonly theirs?: string
  readonly column: string
  readonly atMost: number
  /** The hand-written baseline: its result shows whether the target is reachable. */
  readonly baseline?: string
}

/** The outcome of a case. Lower is better in every column. */
export interface Table {
  readonly title: string
  /** How it was measured, in a sentence or two. */
  readonly how: string
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
  readonly targets: readonly Target[]
}

/** Measures a case, and calls `progress` with the completed share, from 0 to 1. */
export type Case = (progress: (share: number) => void) => Promise<Table>

export function figureOf(samples: readonly number[]): Figure {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0
  return { median: at(0.5), low: at(0.25), high: at(0.75) }
}

/** A counted number, without spread. */
export const exactly = (value: number): Figure => ({ median: value, low: value, high: value })

/** The same in another unit. */
export const scaled = ({ median, low, high }: Figure, by: number): Figure => ({
  median: median * by,
  low: low * by,
  high: high * by,
})

/** Merges the tables of several processes: medians of medians, and the union of their spreads. */
export function mergeTables(tables: readonly Table[]): Table {
  const [first] = tables
  if (first === undefined) throw new RangeError('no tables to merge')
  const figures = (row: number, column: number): readonly Figure[] =>
    tables.map(({ rows }) => rows[row]?.figures[column] ?? null).filter((figure) => figure !== null)
  const merged = (all: readonly Figure[]): Figure | null =>
    all.length === 0
      ? null
      : {
          median: figureOf(all.map(({ median }) => median)).median,
          low: Math.min(...all.map(({ low }) => low)),
          high: Math.max(...all.map(({ high }) => high)),
        }
  return {
    ...first,
    rows: first.rows.map(({ name }, i) => ({ name, figures: first.columns.map((_, j) => merged(figures(i, j))) })),
  }
}

/** The figure of a row in a column. Throws a `RangeError` if there is none. */
export function figureIn({ title, columns, rows }: Table, row: string, column: string): Figure {
  const figure = rows.find(({ name }) => name === row)?.figures[columns.indexOf(column)]
  if (!figure) throw new RangeError(`${title} has no row ${row} with a column ${column}`)
  return figure
}

/** The result of a target's row: a multiple of the other row's median, or the median itself. */
export function reach(table: Table, { ours, theirs, column }: Target): number {
  const median = (row: string): number => figureIn(table, row, column).median
  return theirs === undefined ? median(ours) : median(ours) / median(theirs)
}

/** The result of the hand-written baseline; undefined without a baseline. */
export const reachOfBaseline = (table: Table, target: Target): number | undefined =>
  target.baseline === undefined ? undefined : reach(table, { ...target, ours: target.baseline })

/** Formats a number with its significant digits. */
export function reported(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return Number.isInteger(value) ? String(value) : value.toFixed(value >= 10 ? 1 : value >= 0.1 ? 2 : 3)
}

/** A target and its result, as text. */
export function targetText(table: Table, target: Target): string {
  const { ours, theirs, column, atMost } = target
  const value = reach(table, target)
  const against = theirs === undefined ? column : `of ${theirs}`
  return `${ours}: ${reported(value)} ${against}, target ${reported(atMost)}${value <= atMost ? '' : ' — missed'}`
}

const cell = (figure: Figure | null, spread: boolean): string => {
  if (figure === null) return '–'
  const { median, low, high } = figure
  return spread && low !== high ? `${reported(median)} (${reported(low)} – ${reported(high)})` : reported(median)
}

/** A table for the terminal: the spread of its first column, and the medians of the others. */
export function asText(table: Table): string {
  const lines = [['', ...table.columns], ...table.rows.map(cellsOf)]
  const widths = lines[0]?.map((_, i) => Math.max(...lines.map((line) => (line[i] as string).length))) ?? []
  const text = lines.map((line) =>
    line.map((each, i) => (i === 0 ? each.padEnd(widths[i] as number) : each.padStart(widths[i] as number))).join('  '),
  )
  return [`\n${table.title}`, ...text, ...table.targets.map((target) => `  ${targetText(table, target)}`)].join('\n')
}

/** The same for a page. */
export const asMarkdown = (table: Table): string => markdownTable(['', ...table.columns], table.rows.map(cellsOf))

/** Aligns a table like the formatter: the first `texts` columns to the left, numbers to the right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[], texts = 1): string {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...rows].map((cells) => (cells[i] as string).length)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => (i < texts ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number))).join(' | ')} |`
  const rule = widths.map((width, i) => (i < texts ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

const cellsOf = ({ name, figures }: Row): string[] => [name, ...figures.map((each, i) => cell(each, i === 0))]

/** Markdown that a reader unfolds, in a repository's page and in the site. */
export const fold = (summary: string, text: string): readonly string[] => [
  '<details>',
  `<summary>${summary}</summary>`,
  '',
  text,
  '',
  '</details>',
]
