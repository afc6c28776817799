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

const said = new Set<string>()

/** Tells the developer, once, of a likely mistake that is no reason to stop. */
export function warnOnce(message: string): void {
  if (said.has(message)) return
  said.add(message)
  warn(message)
}

/** Checks a logger. Default: the console. */
export function checkLogger(logger: unknown = console): Logger {
  if (typeof (logger as Logger | null)?.warn === 'function') return logger as Logger
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `logger must have a method warn(message), as console has; got ${shown(logger)}.`,
  )
}
