import { styleText } from 'node:util'
import type { Answer } from './http.ts'
import { BURST } from './servers.ts'

/** One client of one server, and the responses so far. */
export interface Line {
  readonly framework: string
  readonly client: string
  readonly answers: Answer[]
}

const COLUMNS = 27
/** The time of one column in milliseconds. If the run lasts longer than expected, a column is wider. */
const STEP = 190
const BARS = '▁▂▃▄▅▆▇█'

const terminal = process.stdout.isTTY === true
const colourful = terminal && !process.env.NO_COLOR

type Colour = Parameters<typeof styleText>[0]
const paint = (colour: Colour, text: string): string => (colourful ? styleText(colour, text) : text)

export const green = (text: string): string => paint('green', text)
export const red = (text: string): string => paint('red', text)
export const dim = (text: string): string => paint('dim', text)
export const bold = (text: string): string => paint('bold', text)

/** Draws every client's timeline and numbers, `elapsed` milliseconds after `start`. */
export function draw(lines: readonly Line[], start: number, elapsed: number): string {
  const last = Math.max(start, ...lines.map(({ answers }) => answers.at(-1)?.sent ?? start))
  const step = Math.max(STEP, Math.ceil((last - start + 1) / COLUMNS))
  const rows = lines.flatMap((line, i) => {
    const first = line.framework !== lines[i - 1]?.framework
    const label = `${bold((first ? line.framework : '').padEnd(9))} ${line.client.padEnd(8)} `
    const row = `${label}${timeline(line.answers, start, step, elapsed)}${numbers(line)}`
    return first && i > 0 ? ['', row] : [row]
  })
  const head = `${' '.repeat(19)}${seconds(step)}${table('sent', 'ok', 'denied', 'left', 'waits → ok')}`
  const legend = `${green(BARS)} allowed (height: units)   ${red('×')} denied   ${paint('yellow', '±')} some of each`
  const note = dim('waits → ok: waits for Retry-After or RateLimit, and how many were then allowed')
  return [dim(head), ...rows, '', legend, note].join('\n')
}

function seconds(step: number): string {
  const marks = Array<string>(COLUMNS).fill(' ')
  for (let s = 0; s * 1000 < (COLUMNS - 1) * step; s++) {
    const at = Math.floor((s * 1000) / step)
    marks.splice(at, 2, String(s), 's')
  }
  return marks.join('').slice(0, COLUMNS)
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

function numbers({ client, answers }: Line): string {
  const allowed = answers.filter((each) => each.allowed).length
  const kept = answers.filter((each) => each.kept !== undefined)
  const admitted = kept.filter((each) => each.allowed).length
  const waits = client === 'abuser' ? 'ignored' : kept.length > 0 ? `${kept.length} → ${admitted}` : '–'
  return table(answers.length, allowed, answers.length - allowed, answers.at(-1)?.left ?? BURST, waits)
}

const WIDTHS = [5, 5, 7, 5, 11]

const table = (...cells: readonly (string | number)[]): string =>
  cells.map((cell, i) => String(cell).padStart(WIDTHS[i] ?? 0)).join('')

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
