import { QuotaError, shown } from './errors.ts'

/** Where warnings go. */
export interface Logger {
  warn(message: string): void
}

// Every runtime has a console, though no ECMAScript library declares it.
declare const console: { warn(message: string): void }

/** Tells whoever runs the program of something that they should know of. */
export function warn(message: string): void {
  console.warn(`spillway: ${message}`)
}

/** The most details of one problem that are printed and kept, and the most characters of each. */
const [MOST_DETAILS, MOST_CHARACTERS] = [10, 1_000]

/** What is written in the program, and not put together while it runs. */
type Literal<Text extends string> = Record<never, never> extends Record<Text, unknown> ? never : Text

const printed = new Map<string, Set<string>>()

/**
 * Warns the developer, once, of a likely mistake that is no reason to stop. What clients may change belongs into `detail`:
 * each problem is printed with ten different details at most, so that nobody can print without bound, nor silence one
 * problem by another.
 */
export function warnOnce<const Text extends string>(problem: Literal<Text>, detail = ''): void {
  const details = printed.get(problem) ?? new Set()
  printed.set(problem, details)
  const cut = detail.slice(0, MOST_CHARACTERS)
  if (details.size === MOST_DETAILS || details.has(cut)) return
  details.add(cut)
  warn(`${problem}${cut}${details.size === MOST_DETAILS ? ' (No more of these are printed.)' : ''}`)
}

/** Checks a logger. Default: the console. */
export function checkLogger(logger: unknown = console): Logger {
  if (typeof (logger as Logger | null)?.warn === 'function') return logger as Logger
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `logger must have a method warn(message), as console has; got ${shown(logger)}.`,
  )
}
