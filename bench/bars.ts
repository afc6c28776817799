/** A bar: what was measured, with whom it is compared, and Spillway's share of the other's cost. */
export interface Bar {
  readonly what: string
  readonly peer: string
  readonly share: number
  /** The share as it is printed. */
  readonly text: string
}

const [WIDTH, LEFT, RIGHT, ROW, TOP, BOTTOM] = [720, 400, 60, 26, 34, 30]
const [OURS, THEIRS, INK] = ['#2f6fde', '#d9730d', '#6b7079']

const escaped = (text: string): string => text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`)

/** A bar's number after its end, or in the bar if there is no room before the line at 1. */
const valueAt = (x: number, y: number, text: string, inside: boolean): string =>
  inside
    ? `<text x="${x - 6}" y="${y}" text-anchor="end" fill="#ffffff">${text}</text>`
    : `<text x="${x + 6}" y="${y}" fill="${INK}">${text}</text>`

/** Ratios as horizontal bars from zero; a line at 1 is what the peer needs. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const top = Math.max(1, ...bars.map(({ share }) => share))
  const x = (share: number): number => Math.round(LEFT + (share / top) * (WIDTH - LEFT - RIGHT))
  const height = TOP + bars.length * ROW + BOTTOM
  const rows = bars.flatMap(({ what, peer, share, text }, i) => {
    const y = TOP + i * ROW
    return [
      `<text x="${LEFT - 8}" y="${y + 14}" text-anchor="end" fill="${INK}">${escaped(what)}, ${escaped(peer)}</text>`,
      `<rect x="${LEFT}" y="${y + 3}" width="${Math.max(x(share) - LEFT, 1)}" height="${ROW - 10}" rx="2" fill="${share < 1 ? OURS : THEIRS}"/>`,
      valueAt(x(share), y + 14, text, share > 0.75 * top),
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}: ${escaped(bars.map(({ what, peer, text }) => `${what}, ${peer}: ${text}`).join('; '))}</title>`,
    `<text x="${LEFT}" y="16" fill="${INK}">${escaped(title)}</text>`,
    ...rows,
    `<path d="M${x(1)} ${TOP - 6}V${height - BOTTOM + 4}" stroke="${INK}" stroke-dasharray="3 3"/>`,
    `<text x="${x(1)}" y="${height - 10}" text-anchor="middle" fill="${INK}">1: the peer</text>`,
    '</svg>',
    '',
  ].join('\n')
}
