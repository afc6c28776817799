import { axisOf } from './axis.ts'
import { COLORS, INK, svg, text, textWidth } from './svg.ts'
import { type Figure, reported } from './table.ts'

/** A bar: a limiter and its figure, in the unit of the axis. */
export interface Ranked {
  readonly name: string
  readonly ours: boolean
  readonly figure: Figure
}

const [WIDTH, RIGHT, ROW, TOP, BOTTOM] = [720, 84, 21, 14, 46]
const [OURS, THEIRS] = COLORS as [string, string]

/**
 * Figures as horizontal bars, with a line for the middle half of the measurements. An axis whose values span a decade is
 * logarithmic; every other one starts at zero.
 */
export function rankingChart(title: string, unit: string, bars: readonly Ranked[]): string {
  const left = 16 + Math.max(...bars.map(({ name }) => textWidth(name)))
  const axis = axisOf(
    bars.map(({ figure }) => figure.median),
    Math.max(...bars.map(({ figure }) => figure.high)),
  )
  // Noise can make a small difference negative.
  const x = (value: number): number =>
    Math.round(left + Math.max(0, value > 0 ? axis.at(value) : 0) * (WIDTH - left - RIGHT))
  const foot = TOP + bars.length * ROW
  const rows = bars.flatMap(({ name, ours, figure: { median, low, high } }, i) => {
    const y = TOP + i * ROW
    return [
      text(left - 8, y + 14, name, 'end'),
      `<rect x="${left}" y="${y + 3}" width="${Math.max(x(median) - left, 1)}" height="${ROW - 7}" rx="2" fill="${ours ? OURS : THEIRS}"/>`,
      ...(low === high ? [] : [`<path d="M${x(low)} ${y + 10}H${x(high)}" stroke="${INK}" stroke-width="2"/>`]),
      text(x(high) + 8, y + 14, reported(median)),
    ]
  })
  const spoken = bars.map(({ name, figure }) => `${name}: ${reported(figure.median)}`).join('; ')
  return svg(WIDTH, foot + BOTTOM, `${title} In ${unit}: ${spoken}`, [
    ...axis.marks.map((mark) => `<path d="M${x(mark)} ${TOP - 4}V${foot + 4}" stroke="${INK}" stroke-opacity=".25"/>`),
    ...rows,
    ...axis.marks.map((mark) => text(x(mark), foot + 18, reported(mark), 'middle')),
    text((left + WIDTH - RIGHT) / 2, foot + 36, `${unit}${axis.isLog ? ', logarithmic' : ''}`, 'middle'),
  ])
}
