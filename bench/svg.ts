/** The parts of drawings: on a white card, so that text has enough contrast on light and on dark pages. */
export const INK = '#555b66'

/** Colours of series, each with a contrast of at least 4.5 on white, which differ in lightness, too. */
export const COLORS: readonly string[] = ['#2f6fde', '#b4560a', '#17756a', '#7a4fd0']

const FONT_SIZE = 12

export const escaped = (text: string): string => text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`)

/** An upper bound of the width of a text: its letters are narrower than this on average. */
export const textWidth = (text: string): number => Math.ceil(text.length * FONT_SIZE * 0.56)

/** A text with its anchor at `x`. */
export const text = (x: number, y: number, words: string, anchor = 'start', fill: string = INK): string =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${fill}">${escaped(words)}</text>`

/** A drawing of this size. `title` is what screen readers say. */
export const svg = (width: number, height: number, title: string, parts: readonly string[]): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="sans-serif" font-size="${FONT_SIZE}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#ffffff"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
