import { QuotaError } from './errors.ts'
import { setLongTimeout } from './long-timeout.ts'
import { type Awaitable, type MaybePromise, maybePromise } from './maybe-promise.ts'

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
    const stop = setLongTimeout(LONGEST_WAIT_MS, late, { holds: false })
    promise.then(resolve, reject).finally(stop)
  })
}
