import type { Micros } from '@spillway/core'

let last: Promise<unknown> = Promise.resolve()

/**
 * Runs `work` while the page's clocks show the time of a run: a circuit breaker and a local count read them. `work` waits for
 * microtasks only, so that nothing else of the page runs meanwhile; another run waits for its end.
 */
export function withClock<T>(clock: { readonly now: Micros }, work: () => Promise<T>): Promise<T> {
  const result = last.then(async () => {
    const [dateNow, now] = [Date.now, performance.now]
    Date.now = () => clock.now / 1000
    performance.now = () => clock.now / 1000
    try {
      return await work()
    } finally {
      Date.now = dateNow
      performance.now = now
    }
  })
  last = result.catch(() => {})
  return result
}
