import { COLORS, INK, svg, text, textWidth } from './svg.ts'

/** A bar: what was measured, with whom it is compared, and Spillway's share of the other's cost. */
export interface Bar {
  readonly what: string
  readonly peer: string
  readonly share: number
  /** The share as it is printed. */
  readonly text: string
}

const [WIDTH, RIGHT, ROW, TOP, BOTTOM] = [720, 96, 20, 40, 44]
const [OURS, THEIRS] = COLORS as [string, string]

const labelOf = ({ what, peer }: Bar): string => `${what}, ${peer}`

/** Ratios as horizontal bars from zero; a line at 1 is what the peer needs. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const left = 16 + Math.max(...bars.map((bar) => textWidth(labelOf(bar))))
  const top = Math.max(1, ...bars.map(({ share }) => share))
  const x = (share: number): number => Math.round(left + (share / top) * (WIDTH - left - RIGHT))
  const height = TOP + bars.length * ROW + BOTTOM
  const foot = height - BOTTOM
  const rows = bars.flatMap((bar, i) => {
    const { share, text: value } = bar
    const y = TOP + i * ROW
    return [
      text(left - 8, y + 12, labelOf(bar), 'end'),
      `<rect x="${left}" y="${y + 3}" width="${Math.max(x(share) - left, 1)}" height="${ROW - 10}" rx="2" fill="${share < 1 ? OURS : THEIRS}"/>`,
      text(x(share) + 6, y + 12, value),
    ]
  })
  const spoken = bars.map((bar) => `${labelOf(bar)}: ${bar.text}`).join('; ')
  return svg(WIDTH, height, `${title}: ${spoken}`, [
    text(16, 20, `${title}; shorter is better`, 'start'),
    ...rows,
    `<path d="M${left} ${TOP - 6}V${foot + 4}" stroke="${INK}"/>`,
    `<path d="M${x(1)} ${TOP - 6}V${foot + 4}" stroke="${INK}" stroke-dasharray="3 3"/>`,
    ...[0, 0.5].map((share) => text(x(share), foot + 20, String(share), 'middle')),
    text(x(1), foot + 20, '1: the peer', 'middle'),
  ])
}
