import type { Micros } from '@spillway/core'

/** A clock that stands still until told otherwise. Call it to read it. */
export interface FakeClock {
  (): Micros
  /** Moves the clock, back if negative. */
  advance(millis: number): void
  advanceMicros(micros: Micros): void
}

/** The moment at which fake clocks start: 2026-01-01 00:00 UTC. */
export const START: Micros = Date.UTC(2026, 0, 1) * 1000

/** A clock to inject: `memoryStore({ clock: fakeClock() })`. */
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
