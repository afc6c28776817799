import { invalidOption, type WarningCode, withLink } from './errors.ts'
import { maybePromise } from './maybe-promise.ts'
import { oncePer } from './once-per.ts'
import { processState } from './process-state.ts'

/** Receives warnings, as `console` does. */
export interface Logger {
  /** Logs a message, which begins with `spillway:`. */
  warn(message: string): void
}

// Every runtime has a console, though no ECMAScript library declares it.
declare const console: Logger

/** Logs a warning with its link. A logger that throws or rejects does not fail the request. */
export function warn(logger: Logger, code: WarningCode, message: string): void {
  try {
    const returned: unknown = maybePromise<unknown>(logger.warn(`spillway: ${withLink(message, code)}`))
    if (returned instanceof Promise) returned.catch(() => {})
  } catch {}
}

/** The most details that are logged per code, and the most characters of each. */
const [MAX_DETAILS, MAX_DETAIL_CHARACTERS] = [10, 1_000]

const loggedBy = oncePer('logged warnings', (_logger: Logger) => new Map<WarningCode, Set<string>>())

/**
 * Logs a likely mistake once per logger and code. Pass text that clients can influence as `detail`: at most ten different
 * details per code are logged, so that no client can flood the log, or hide one warning behind another.
 */
export function warnOnce(logger: Logger, code: WarningCode, message: string, detail = ''): void {
  const logged = loggedBy(logger)
  const details = logged.get(code) ?? new Set()
  logged.set(code, details)
  const cut = detail.slice(0, MAX_DETAIL_CHARACTERS)
  if (details.size === MAX_DETAILS || details.has(cut)) return
  details.add(cut)
  warn(logger, code, `${message}${cut}${details.size === MAX_DETAILS ? ' (No more are logged.)' : ''}`)
}

/** Checks a logger. Default: the console. */
export function checkLogger(logger: unknown = console): Logger {
  if (typeof (logger as Logger | null)?.warn === 'function') return logger as Logger
  throw invalidOption('logger must have a method warn(message), as console has', logger)
}

const loggers = (): WeakMap<object, Logger> => processState('loggers', () => new WeakMap())

/** Makes a store report to the logger of a limiter that uses it. `owner` is the owner of the store's scope. */
export function setLogger(owner: object, logger: Logger): void {
  if (logger !== console) loggers().set(owner, logger)
}

/** The logger of the last limiter built on the store. Default: the console. */
export const loggerOf = (owner: object): Logger => loggers().get(owner) ?? console
