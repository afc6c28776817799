import type { Compiled } from './compilers.ts'

/** What a runtime did. */
export interface Row {
  readonly runtime: string
  /** How many tests of the suites passed with the packages imported, and required; undefined where there is no require. */
  readonly imported: number
  readonly required: number | undefined
  /** The apps that passed the story. */
  readonly reported: readonly string[]
  readonly failures: readonly string[]
}

/** What was run, as Markdown. */
export function tableOf(
  rows: readonly Row[],
  { compilers, resolutions }: Compiled,
  managers: readonly string[],
  runners: readonly string[],
  apps: readonly string[],
): string {
  const cells = rows.map(({ runtime, imported, required, reported }) => [
    runtime,
    `${imported} passed`,
    required === undefined ? '' : `${required} passed`,
    reported.join(', '),
  ])
  const all = [['runtime', 'suites, `import`', 'suites, `require`', 'the same story over HTTP'], ...cells]
  const widths = [0, 1, 2, 3].map((i) => Math.max(...all.map((row) => (row[i] as string).length)))
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] as number)).join(' | ')} |`
  const [head = [], ...body] = all
  return [
    line(head),
    line(widths.map((width) => '-'.repeat(width))),
    ...body.map(line),
    '',
    `The declarations compile with TypeScript ${listed(compilers)}, under ${listed(resolutions.map((name) => `\`${name}\``))}.`,
    `A user's tests pass in ${listed(runners)}. Every entry is also imported and required as installed by ${listed(managers)}.`,
    `The samples for frameworks limit production builds of ${listed(apps)}.`,
    '',
  ].join('\n')
}

const listed = (items: readonly string[]): string => `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`

/** Reports whether two tables have the same results for the same runtimes, regardless of their versions. */
export function haveSameResults(one: string, other: string): boolean {
  const [a, b] = [one, other].map((table) =>
    table
      .replace(/^(\| [A-Za-z]+) [\d.]+/gm, '$1')
      .replace(/[\s-]+/g, ' ')
      .trim(),
  )
  return a === b
}
