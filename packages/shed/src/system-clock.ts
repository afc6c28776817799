import type { Clock } from './clock.ts'

// Every runtime has them, though no ECMAScript library declares them.
declare const performance: { readonly timeOrigin?: number; now(): number }
declare function setTimeout(callback: () => void, ms: number): unknown
declare function clearTimeout(timer: unknown): void
/** Undefined in browsers and on some edge runtimes. */
declare const setImmediate: ((callback: () => void) => unknown) | undefined
declare function clearImmediate(immediate: unknown): void

// Some edge runtimes have none.
const origin = (): number => performance.timeOrigin ?? Date.now() - performance.now()
let startedAt: number | undefined

/** The time of the process. It agrees with that of other processes, and still never steps back. */
export const systemClock: Clock = {
  now: () => {
    startedAt ??= origin()
    return startedAt + performance.now()
  },
  after: (ms, callback) => {
    if (ms === 0 && typeof setImmediate === 'function') {
      const immediate = setImmediate(callback)
      return () => clearImmediate(immediate)
    }
    // Timers have whole milliseconds: an earlier one would find nothing to do.
    const timer = setTimeout(callback, Math.ceil(ms))
    return () => clearTimeout(timer)
  },
}
