import type { Micros } from '@spillway/core'
import { made } from './made.ts'

/** A clock that moves only on `advance`. Call it to read the time in microseconds since 1970. */
export interface FakeClock {
  (): Micros
  /** Moves the clock by milliseconds, backward if negative. */
  advance(millis: number): void
  /** Moves the clock by microseconds, backward if negative. */
  advanceMicros(micros: Micros): void
}

/** The start time of fake clocks: 2026-01-01 00:00 UTC, in microseconds since 1970. */
export const START: Micros = /* @__PURE__ */ made(() => Date.UTC(2026, 0, 1) * 1000)

/** Returns a clock for tests: `memoryStore({ clock: fakeClock() })`. */
export function fakeClock(start: Micros = START): FakeClock {
  let now = start
  const advanceMicros = (micros: Micros): void => {
    now += micros
  }
  return Object.assign(() => now, {
    advanceMicros,
    advance: (millis: number) => advanceMicros(Math.round(millis * 1000)),
  })
}
