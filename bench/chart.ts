import { reported, type Table } from './table.ts'

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [720, 320, 64, 48, 36]
/** Colours that also differ in lightness, and are distinct on light and dark pages. */
const COLORS = ['#2f6fde', '#d9730d', '#2a9d8f', '#8a63d2']

const escaped = (text: string): string => text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`)

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((each) => each * power >= value) as number) * power
}

/** A table's columns as lines over its rows, from zero up. */
export function lineChart({ title, columns, rows }: Table): string {
  const medians = columns.map((_, i) => rows.map(({ figures }) => figures[i]?.median ?? 0))
  const top = roundAbove(Math.max(1, ...medians.flat()))
  const x = (i: number): number => Math.round(LEFT + 24 + (i * (WIDTH - LEFT - 48)) / Math.max(rows.length - 1, 1))
  const y = (value: number): number => Math.round(HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM))
  const text = (at: readonly [number, number], anchor: string, words: string, fill = '#7a7f87'): string =>
    `<text x="${at[0]}" y="${at[1]}" text-anchor="${anchor}" fill="${fill}">${escaped(words)}</text>`
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    `<path d="M${LEFT} ${y(top * share)}H${WIDTH - 8}" stroke="#7a7f87" stroke-opacity=".3"/>`,
    text([LEFT - 8, y(top * share) + 4], 'end', reported(top * share)),
  ])
  const lines = medians.flatMap((values, i) => {
    const color = COLORS[i % COLORS.length] as string
    const points = values.map((value, at) => `${x(at)},${y(value)}`)
    return [
      `<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...values.map((value, at) => `<circle cx="${x(at)}" cy="${y(value)}" r="3" fill="${color}"/>`),
      text([LEFT + i * 220, 20], 'start', `● ${columns[i]}`, color),
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    ...grid,
    ...rows.map(({ name }, i) => text([x(i), HEIGHT - 12], 'middle', name)),
    ...lines,
    '</svg>',
    '',
  ].join('\n')
}
