import type { Readable } from 'node:stream'

/** The streams and the environment of the program: the process's own, or a test's. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined }
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: Readonly<Record<string, string | undefined>>
  /** The program's version, for `--version`. */
  readonly version?: string
}

/** A stream for text: of this process, or of a test. */
export interface Sink {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

const CODES: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
}

/** Colours text for a terminal, unless NO_COLOR is set. */
export function painter(sink: Sink, { NO_COLOR, TERM }: Io['env']): (colour: Colour, text: string) => string {
  const coloured = sink.isTTY === true && !NO_COLOR && TERM !== 'dumb'
  return (colour, text) => {
    const [on, off] = CODES[colour]
    return coloured ? `\u001b[${on}m${text}\u001b[${off}m` : text
  }
}

/** The columns of a terminal: 80 if it has none. */
export const widthOf = ({ columns = 80 }: Sink): number => Math.min(Math.max(columns, 60), 120)

/** An error in the user's input, printed without a stack. `exitCode` defaults to 2, wrong use. */
export class UserError extends Error {
  override readonly name = 'UserError'
  readonly exitCode: number

  constructor(message: string, exitCode = 2) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The error for a file that cannot be read. */
export function unreadable(path: string, error: unknown): UserError {
  const { code, message } = error as NodeJS.ErrnoException
  if (path === '') return new UserError('the name of a file is empty: is a variable of your shell not set?')
  return new UserError(`${path} cannot be read: ${code === 'EISDIR' ? 'it is a directory' : message}`)
}

/** A progress bar on a terminal, drawn at most 10 times a second, and removed at the end. */
export interface Progress {
  update(done: number, lines: number): void
  clear(): void
}

export function progressBar(
  sink: Sink,
  total: number | undefined,
  now: () => number = () => performance.now(),
): Progress {
  if (sink.isTTY !== true) return { update: () => {}, clear: () => {} }
  let last = -Infinity
  let drawn = false
  return {
    update(done, lines) {
      if (now() - last < 100) return
      last = now()
      drawn = true
      const share = total === undefined || total === 0 ? undefined : Math.min(done / total, 1)
      const label = `${new Intl.NumberFormat('en').format(lines)} lines`
      const width = Math.max(Math.min((sink.columns ?? 80) - label.length - 12, 40), 10)
      const full = Math.round((share ?? 0) * width)
      const bar =
        share === undefined
          ? ''
          : `${'█'.repeat(full)}${'░'.repeat(width - full)} ${String(Math.floor(share * 100)).padStart(3)} % `
      sink.write(`\r\u001b[2K${bar}${label}`)
    },
    clear() {
      if (drawn) sink.write('\r\u001b[2K')
    },
  }
}
