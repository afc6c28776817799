import { START } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Micros, Quota } from '../src/index.ts'
import { at, DAY, daily, HOUR, subject } from './days.ts'

/** How many units are allowed at these times. */
const allowedAt = (quotas: readonly Quota[], times: readonly Micros[], caller = (now: Micros) => now): number => {
  const take = subject()
  return times.filter((now, i) => take(quotas[i % quotas.length] as Quota, now, { caller: caller(now) }).allowed).length
}

const every = (step: Micros, from: Micros, to: Micros): readonly Micros[] =>
  Array.from({ length: Math.floor((to - from) / step) }, (_, i) => from + i * step)

describe('the clock of the store decides', () => {
  const nearChange = fc.integer({ min: at('2026-03-27T00:00') / 1e6, max: at('2026-03-31T00:00') / 1e6 })

  test('whatever that of the caller, as long as they differ by less than a period', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(nearChange, fc.integer({ min: -82_799, max: 82_799 })), { minLength: 1, maxLength: 20 }),
        (calls) => {
          const [take, right] = [subject(), subject()]
          for (const [seconds, skew] of calls) {
            const now = seconds * 1e6
            expect(take(daily('Europe/Berlin', 2), now, { caller: now + skew * 1e6 })).toEqual(
              right(daily('Europe/Berlin', 2), now),
            )
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a caller whose clock is ten days off has one quota a day, too', () => {
    const hours = every(HOUR, START + 1e6, START + 5 * DAY)
    for (const skew of [-10 * DAY, 10 * DAY]) {
      expect(allowedAt([daily('UTC')], hours, (now) => now + skew)).toBeLessThanOrEqual(6 * 5)
      expect(allowedAt([daily('UTC')], hours, (now) => now + skew)).toBeGreaterThanOrEqual(4 * 5)
    }
  })

  test('a clock that steps back over a boundary gives no second quota, and denies no longer than to the period’s end', () => {
    const take = subject()
    const midnight = at('2026-03-02T00:00')
    expect(take(daily('UTC'), midnight - 1e6, { cost: 5 }).allowed).toBe(true)
    expect(take(daily('UTC'), midnight + 1e6, { cost: 5 }).allowed).toBe(true)
    for (let i = 0; i < 5; i++) {
      expect(take(daily('UTC'), midnight - 1e6)).toMatchObject({ allowed: false, retryAfterMs: 86_401_000 })
      expect(take(daily('UTC'), midnight + 1e6)).toMatchObject({ allowed: false, retryAfterMs: 86_399_000 })
    }
    expect(take(daily('UTC'), midnight + DAY, { cost: 5 }).allowed).toBe(true)
  })
})

describe('calendars that differ', () => {
  test('a key has one quota a day while processes have different rules of a time zone', () => {
    // One process has summer time, the other not yet.
    const quotas = [daily('Europe/London'), daily('UTC')]
    const times = every(HOUR / 3, at('2026-07-01T12:00'), at('2026-07-11T12:00'))
    // The first day and the last have half of their hours.
    expect(allowedAt(quotas, times)).toBe(11 * 5)
  })

  test('a key has one quota a day while a deploy moves it to any other zone, and one day is longer or shorter', () => {
    const zones = fc.constantFrom('Pacific/Kiritimati', 'Asia/Tokyo', 'Europe/Berlin', 'America/New_York', 'Etc/GMT+12')
    fc.assert(
      fc.property(zones, zones, fc.integer({ min: 0, max: 95 }), (before, after, quarter) => {
        const from = at('2026-07-01T00:00') + quarter * (HOUR / 4)
        const quotas = [daily(before), daily(after)]
        const times = every(HOUR / 4, from, from + 10 * DAY)
        expect(allowedAt(quotas, times)).toBeLessThanOrEqual(12 * 5)
      }),
      { numRuns: 50 },
    )
  })

  test('a wait that is reported is right, also after the zone has changed', () => {
    const take = subject()
    const morning = at('2026-07-01T02:00')
    // It is still yesterday in New York until 04:00 UTC.
    take(daily('Europe/Berlin'), morning, { cost: 5 })
    const { allowed, retryAfterMs } = take(daily('America/New_York'), morning)
    expect(allowed).toBe(false)
    const end = morning + retryAfterMs * 1000
    expect(end).toBe(at('2026-07-02T04:00'))
    expect(take(daily('America/New_York'), end - 1).allowed).toBe(false)
    expect(take(daily('America/New_York'), end, { cost: 5 }).allowed).toBe(true)
  })
})
