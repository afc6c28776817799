import { styleText } from 'node:util'
import type { Answer } from './http.ts'
import { BURST } from './limits.ts'

/** One client of one server, and the responses so far. */
export interface Line {
  readonly framework: string
  readonly client: string
  readonly answers: Answer[]
}

/** The columns of a timeline: four of them beside a name fit 80. */
const COLUMNS = 15
/** The width of the names of frameworks. */
const NAMES = 11
/** The time of one column in milliseconds. If the run lasts longer than expected, a column is wider. */
const STEP = 350
const BARS = '▁▂▃▄▅▆▇█'

const terminal = process.stdout.isTTY === true
const colourful = terminal && !process.env.NO_COLOR

type Colour = Parameters<typeof styleText>[0]
const paint = (colour: Colour, text: string): string => (colourful ? styleText(colour, text) : text)

export const green = (text: string): string => paint('green', text)
export const red = (text: string): string => paint('red', text)
export const dim = (text: string): string => paint('dim', text)
export const bold = (text: string): string => paint('bold', text)

/** Draws the timelines of every client, a line for each framework, `elapsed` milliseconds after `start`. */
export function draw(lines: readonly Line[], start: number, elapsed: number): string {
  const last = Math.max(start, ...lines.map(({ answers }) => answers.at(-1)?.sent ?? start))
  const step = Math.max(STEP, Math.ceil((last - start + 1) / COLUMNS))
  const clients = [...new Set(lines.map(({ client }) => client))]
  const head = clients.map((client) => ` ${client.padEnd(COLUMNS)}`).join('')
  const rows = [...new Set(lines.map(({ framework }) => framework))].map((framework) => {
    const own = lines.filter((line) => line.framework === framework)
    const timelines = own.map(({ answers }) => ` ${timeline(answers, start, step, elapsed)}`)
    return `${bold(framework.padEnd(NAMES))}${timelines.join('')}`
  })
  const legend = `${green(BARS)} allowed, by units   ${red('×')} denied   ${paint('yellow', '±')} some of each`
  return [dim(`${' '.repeat(NAMES)}${head}`), ...rows, legend].join('\n')
}

function timeline(answers: readonly Answer[], start: number, step: number, elapsed: number): string {
  const cells = Array.from({ length: COLUMNS }, () => ({ units: 0, denied: 0 }))
  for (const { sent, allowed, cost } of answers) {
    const cell = cells[Math.floor((sent - start) / step)]
    if (cell === undefined) continue
    if (allowed) cell.units += cost
    else cell.denied++
  }
  return cells.map((cell, i) => (i * step > elapsed ? ' ' : mark(cell.units, cell.denied))).join('')
}

function mark(units: number, denied: number): string {
  if (units > 0 && denied > 0) return paint('yellow', '±')
  if (denied > 0) return red('×')
  if (units === 0) return dim('·')
  const height = Math.ceil((Math.min(units, BURST) / BURST) * BARS.length)
  return green(BARS.charAt(height - 1))
}

/** Starts a drawing that is updated on a terminal; the returned function draws it for the last time. */
export function live(picture: () => string): () => void {
  const height = picture().split('\n').length
  const { rows, columns } = process.stdout
  // A drawing that is larger than the window cannot be updated in place.
  if (!terminal || height >= rows || columns < 80) return () => console.log(picture())
  const clear = '\x1b[K'
  const show = (): void => console.log(picture().replaceAll('\n', `${clear}\n`) + clear)
  show()
  const redraw = (): void => {
    process.stdout.write(`\x1b[${height}A`)
    show()
  }
  const timer = setInterval(redraw, 100)
  return () => {
    clearInterval(timer)
    redraw()
  }
}
