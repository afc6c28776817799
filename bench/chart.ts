import { axisOf } from './axis.ts'
import { COLORS, INK, svg, text } from './svg.ts'
import { type Figure, reported, type Table } from './table.ts'

const [WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM] = [720, 360, 72, 24, 60]
/** The height of a line of the legend. */
const LINE = 18

/** Splits `spillway consumeSync, ns` into what was measured and its unit. */
function named(column: string): readonly [series: string, unit: string] {
  const comma = column.lastIndexOf(', ')
  return [column.slice(0, comma), column.slice(comma + 2)]
}

const UNITS: Readonly<Record<string, string>> = { ns: 'nanoseconds', µs: 'microseconds' }

/**
 * A table's columns as lines over its rows, whose names are numbers: medians, with bands for the middle half of the
 * measurements. An axis whose values span a decade is logarithmic.
 */
export function lineChart({ title, columns, rows }: Table): string {
  const xs = rows.map(({ name }) => Number(name.replaceAll(',', '')))
  const series = columns.map((column, i) => ({
    name: named(column)[0],
    figures: rows.map(({ figures }) => figures[i]),
  }))
  const all = series.flatMap(({ figures }) => figures.flatMap((each) => (each ? [each.low, each.high] : [])))
  const [across, up] = [axisOf(xs), axisOf(all)]
  const top = 16 + LINE * series.length + 12
  const first = across.isLog ? 0 : across.at(xs[0] as number)
  const x = (value: number): number =>
    Math.round(
      LEFT + 12 + ((across.at(value) - first) / (across.at(xs.at(-1) as number) - first)) * (WIDTH - LEFT - RIGHT - 24),
    )
  const y = (value: number): number => Math.round(HEIGHT - BOTTOM - up.at(value) * (HEIGHT - top - BOTTOM))
  const unit = named(columns[0] as string)[1]
  const [, what = ''] = /by (?:the number of )?(.+)$/.exec(title) ?? []
  const middle = (HEIGHT - BOTTOM + top) / 2
  const scale = (isLog: boolean): string => (isLog ? ', logarithmic' : '')
  return svg(WIDTH, HEIGHT, title, [
    ...up.marks.flatMap((mark) => [
      `<path d="M${LEFT} ${y(mark)}H${WIDTH - RIGHT}" stroke="${INK}" stroke-opacity=".25"/>`,
      text(LEFT - 8, y(mark) + 4, reported(mark), 'end'),
    ]),
    `<text transform="translate(16 ${middle}) rotate(-90)" text-anchor="middle" fill="${INK}">${UNITS[unit] ?? unit} a decision${scale(up.isLog)}</text>`,
    ...rows.map(({ name }, i) => text(x(xs[i] as number), HEIGHT - BOTTOM + 20, shortened(name), 'middle')),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, `number of ${what}${scale(across.isLog)}`, 'middle'),
    ...series.flatMap(({ name, figures }, i) => {
      const color = COLORS[i % COLORS.length] as string
      const points = figures.flatMap((each, at) => (each ? [{ ...each, x: x(xs[at] as number) }] : []))
      return [...band(points, y, color), ...line(points, y, color), ...legend(name, i, color)]
    }),
    text(WIDTH - RIGHT, 16 + LINE * (series.length - 1) + 4, 'bands: the middle half', 'end'),
  ])
}

/** `1,000,000` as `1 M`, which fits between its neighbours. */
const shortened = (name: string): string => name.replace(/,000,000$/, ' M').replace(/,000$/, ' k')

type Point = Figure & { readonly x: number }

function band(points: readonly Point[], y: (value: number) => number, color: string): readonly string[] {
  const edge = [...points.map(({ x, high }) => [x, y(high)]), ...points.toReversed().map(({ x, low }) => [x, y(low)])]
  return [`<polygon points="${edge.map((each) => each.join(',')).join(' ')}" fill="${color}" fill-opacity=".18"/>`]
}

const line = (points: readonly Point[], y: (value: number) => number, color: string): readonly string[] => [
  `<polyline points="${points.map(({ x, median }) => `${x},${y(median)}`).join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`,
  ...points.map(({ x, median }) => `<circle cx="${x}" cy="${y(median)}" r="3" fill="${color}"/>`),
]

function legend(name: string, i: number, color: string): readonly string[] {
  const y = 20 + LINE * i
  return [
    `<path d="M${LEFT} ${y - 4}h18" stroke="${color}" stroke-width="3"/>`,
    text(LEFT + 26, y, name, 'start', color),
  ]
}
