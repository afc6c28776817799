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
