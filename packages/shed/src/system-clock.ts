import type { Clock } from './gate.ts'

// Every runtime has them, though no ECMAScript library declares them.
declare const performance: { readonly timeOrigin: number; now(): number }
declare function setTimeout(callback: () => void, ms: number): unknown
declare function clearTimeout(timer: unknown): void

/** The time of the process. It agrees with that of other processes, and still never steps back. */
export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, callback) => {
    // Timers have whole milliseconds: an earlier one would find nothing to do.
    const timer = setTimeout(callback, Math.ceil(ms))
    return () => clearTimeout(timer)
  },
}
