import { formatThrown } from './errors.ts'
import { maybePromise } from './maybe-promise.ts'
import { type Logger, warnOnce } from './warn.ts'

/** Calls a listener of the application. One that throws or rejects does not affect the request: `name` is in the warning. */
export function notify<E>(name: string, listener: (event: E) => unknown, event: E, logger: Logger): void {
  const warnOfListener = (error: unknown): void =>
    warnOnce(logger, 'WARN_SPILLWAY_LISTENER', `${name} threw: `, formatThrown(error))
  try {
    const returned = maybePromise(listener(event))
    if (returned instanceof Promise) returned.catch(warnOfListener)
  } catch (error) {
    warnOfListener(error)
  }
}

/** A channel of `node:diagnostics_channel`. */
export interface Channel {
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

// Not imported, because edge runtimes do not have the module.
declare const process:
  | { getBuiltinModule?: (name: string) => { channel(name: string): Channel } | undefined }
  | undefined

/** The channel of a name; undefined if the runtime has none. */
export function diagnosticsChannel(name: string): Channel | undefined {
  if (typeof process === 'undefined') return undefined
  return process.getBuiltinModule?.('node:diagnostics_channel')?.channel(name)
}
