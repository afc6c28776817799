import { nowMs, startTimer } from './timers.ts'
import type { Until } from './until.ts'

/**
 * Retries until success, an error of which `pauseOf` returns undefined, or the deadline. `pauseOf` returns how long to wait in
 * addition, in milliseconds.
 */
export async function retrying<T>(
  until: Until,
  run: (until: Until, number: number) => Promise<T>,
  pauseOf: (error: unknown) => number | undefined,
): Promise<T> {
  for (let number = 0; ; number++) {
    try {
      return await run(until, number)
    } catch (error) {
      const extra = pauseOf(error)
      if (extra === undefined || !(await paused(number, until, extra))) throw error
    }
  }
}

/** Waits before the next try; returns false if no time is left for it. */
export async function paused(number: number, { sendByMs }: Until, extraMs = 0): Promise<boolean> {
  // A uniformly random pause (full jitter) keeps conflicting calls from colliding again.
  const pause = Math.random() * Math.min(2 ** number, 64) + extraMs
  if (nowMs() + pause >= sendByMs) return false
  await new Promise<void>((resolve) => startTimer(resolve, pause))
  // A timer may be late.
  return nowMs() < sendByMs
}
