import type { Micros } from '@spillway/core'

/** The time of a run, and its timers if what runs has any. */
interface Clock {
  readonly now: Micros
  readonly after?: (millis: number, callback: () => void) => () => void
  /** Takes the callbacks whose time has not come. */
  readonly rest?: () => readonly (() => unknown)[]
}

let last: Promise<unknown> = Promise.resolve()

/**
 * Runs `work` while the page's clocks and timers are those of a run: a circuit breaker, a local count and the slots in use read
 * them. `work` waits for microtasks only, so that nothing else of the page runs meanwhile; another run waits for its end.
 */
export function withClock<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  const result = last.then(async () => {
    const [dateNow, now] = [Date.now, performance.now]
    const { setTimeout, clearTimeout } = globalThis
    Date.now = () => clock.now / 1000
    performance.now = () => clock.now / 1000
    if (clock.after) Object.assign(globalThis, timersOf(clock.after))
    try {
      return await work()
    } finally {
      Date.now = dateNow
      performance.now = now
      Object.assign(globalThis, { setTimeout, clearTimeout })
      // Timers of the page, which something beside the run has set meanwhile.
      for (const callback of clock.rest?.() ?? []) setTimeout(callback, 0)
    }
  })
  last = result.catch(() => {})
  return result
}

const timersOf = (after: NonNullable<Clock['after']>): object => ({
  setTimeout: (callback: () => void, millis: number) => after(millis, callback),
  // One that the page has set is none of the run's: it is a number.
  clearTimeout: (cancel: unknown) => {
    if (typeof cancel === 'function') cancel()
  },
})
