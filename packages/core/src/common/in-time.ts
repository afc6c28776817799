import { QuotaError } from './errors.ts'
import { type Awaitable, type MaybePromise, maybePromise } from './maybe-promise.ts'

// Every runtime has timers, though no ECMAScript library declares them.
declare function setTimeout(callback: () => void, millis: number): unknown
declare function clearTimeout(timer: unknown): void

/** How long a request waits for a promise of the options. */
const LONGEST_WAIT_MS = 10_000

/**
 * Normalises what a function of the options returns. A promise that does not settle in time rejects with an error that names
 * the option: its request would wait for ever.
 */
export const inTime =
  (option: string) =>
  <T>(returned: Awaitable<T>): MaybePromise<T> => {
    const value = maybePromise(returned)
    return value instanceof Promise ? unlessLate(option, value) : value
  }

function unlessLate<T>(option: string, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void =>
      reject(
        new QuotaError(
          'ERR_SPILLWAY_OPTION',
          `the promise that ${option} returned has not settled for 10 s. Give its calls a timeout.`,
        ),
      )
    const timer = setTimeout(late, LONGEST_WAIT_MS)
    // Timers of browsers and edge runtimes are numbers, without `unref`.
    ;(timer as { unref?: () => void }).unref?.()
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
