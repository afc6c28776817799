import { QuotaError, shown } from './errors.ts'
import { oncePer } from './once-per.ts'

/** Where warnings go. */
export interface Logger {
  warn(message: string): void
}

// Every runtime has a console, though no ECMAScript library declares it.
declare const console: Logger

/** Reports a problem to a logger. A logger that throws does not fail the request. */
export function warn(logger: Logger, message: string): void {
  try {
    logger.warn(`spillway: ${message}`)
  } catch {}
}

/** The most details of one problem that are printed and kept, and the most characters of each. */
const [MOST_DETAILS, MOST_CHARACTERS] = [10, 1_000]

/** What is written in the program, and not put together while it runs. */
type Literal<Text extends string> = Record<never, never> extends Record<Text, unknown> ? never : Text

const printedBy = oncePer((_logger: Logger) => new Map<string, Set<string>>())

/**
 * Reports a likely mistake that is no reason to stop, once for each logger. What clients may change belongs into `detail`:
 * each problem is printed with ten different details at most, so that nobody can print without bound, nor silence one
 * problem by another.
 */
export function warnOnce<const Text extends string>(logger: Logger, problem: Literal<Text>, detail = ''): void {
  const printed = printedBy(logger)
  const details = printed.get(problem) ?? new Set()
  printed.set(problem, details)
  const cut = detail.slice(0, MOST_CHARACTERS)
  if (details.size === MOST_DETAILS || details.has(cut)) return
  details.add(cut)
  warn(logger, `${problem}${cut}${details.size === MOST_DETAILS ? ' (No more of these are printed.)' : ''}`)
}

/** Checks a logger. Default: the console. */
export function checkLogger(logger: unknown = console): Logger {
  if (typeof (logger as Logger | null)?.warn === 'function') return logger as Logger
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `logger must have a method warn(message), as console has; got ${shown(logger)}.`,
  )
}

const loggers = new WeakMap<object, Logger>()

/** Makes a store report to the logger of a limiter that uses it. `owner` is the owner of the store's scope. */
export function setLogger(owner: object, logger: Logger): void {
  if (logger !== console) loggers.set(owner, logger)
}

/** The logger that a limiter on the store was given last; the console if none was. */
export const loggerOf = (owner: object): Logger => loggers.get(owner) ?? console
