import { fakeClock, modelStore, START } from '@spillway/conformance'
import { type Decision, type Quota, rateLimiter, type SyncRateLimiter } from '../src/index.ts'

export const second = 1_000_000
export const hour = 3_600 * second

/** One key under a quota, asked at microseconds after the start. */
export interface Asked {
  at(micros: number): SyncRateLimiter
  take(micros: number, cost?: number): Decision
  peek(micros: number, cost?: number): Promise<Decision>
}

export function asked(quota: Quota): Asked {
  const clock = fakeClock()
  const limiter = rateLimiter({ quota, store: modelStore(clock) })
  const at = (micros: number): SyncRateLimiter => {
    clock.advanceMicros(START + micros - clock())
    return limiter
  }
  return {
    at,
    take: (micros, cost = 1) => at(micros).consumeSync('alice', cost),
    peek: (micros, cost = 1) => at(micros).peek('alice', cost),
  }
}

/** How many requests pass, one by one, of a crowd at one moment. */
export function crowd(subject: Asked, micros: number, cost = 1): number {
  let admitted = 0
  while (admitted < 1_000 && subject.take(micros, cost).allowed) admitted++
  return admitted
}
