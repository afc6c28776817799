import { fakeClock, faultyStore, modelStore, START } from '@spillway/conformance'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { headerItem } from '../src/http/headers/header-item.ts'
import {
  type CalendarWindowOptions,
  calendarWindow,
  divideQuota,
  fixedWindow,
  type Micros,
  perMonth,
  type Quota,
  QuotaError,
  rateLimiter,
  slidingWindow,
  type ThresholdEvent,
  withDenyCache,
} from '../src/index.ts'
import { decide, receivedStep, sentStep, stepFor } from '../src/internal/index.ts'

const HOUR: Micros = 3_600e6
const DAY: Micros = 24 * HOUR
const at = (text: string): Micros => Date.parse(`${text}Z`) * 1000

const daily = (timeZone: string, limit = 5): Quota => calendarWindow({ limit, unit: 'day', timeZone })

/** A key in a store. `caller` is the time of the process that sends the step. */
function subject() {
  const store = modelStore(() => START)
  return (quota: Quota, now: Micros, { cost = 1, caller = now, verb = 'consume' as const } = {}) => {
    const step = receivedStep(sentStep(stepFor(quota, verb, cost), caller))
    const [taken] = store.takeSync([{ policy: 'p', key: 'a', step }], now)
    return decide('p', quota, cost, step, taken as NonNullable<typeof taken>)
  }
}

/** How many units are allowed at these times. */
const allowedAt = (quotas: readonly Quota[], times: readonly Micros[], caller = (now: Micros) => now): number => {
  const take = subject()
  return times.filter((now, i) => take(quotas[i % quotas.length] as Quota, now, { caller: caller(now) }).allowed).length
}

const every = (step: Micros, from: Micros, to: Micros): readonly Micros[] =>
  Array.from({ length: Math.floor((to - from) / step) }, (_, i) => from + i * step)

describe('options', () => {
  test.each<[string, () => unknown, string]>([
    [
      'a zone that does not exist',
      () => perMonth(10, { timeZone: 'Mars/Phobos' }),
      `perMonth timeZone must be the name of a time zone, such as 'Europe/Berlin' or 'UTC'; got "Mars/Phobos".`,
    ],
    ['no text', () => calendarWindow({ limit: 1, unit: 'day', timeZone: 1 as never }), 'timeZone must be'],
    ['an empty zone', () => perMonth(10, { timeZone: '' }), 'got ""'],
    ['null', () => perMonth(10, { timeZone: null as never }), 'is null'],
    [
      'a unit',
      () => calendarWindow({ limit: 1, unit: 'year' as never }),
      `unit must be 'month', 'week' or 'day'; got "year".`,
    ],
    ['a unit in a list', () => calendarWindow({ limit: 1, unit: ['day'] as never }), 'unit must be'],
    ['a unit of Object', () => calendarWindow({ limit: 1, unit: 'toString' as never }), 'unit must be'],
    ['a limit', () => perMonth(0.5), 'perMonth limit must be a whole number, 1 or more; got 0.5.'],
    [
      'a first day',
      () => calendarWindow({ limit: 1, unit: 'week', firstDay: 0 }),
      'firstDay must be 1, Monday, to 7, Sunday; got 0.',
    ],
    [
      'a first day of a month',
      () => calendarWindow({ limit: 1, unit: 'month', firstDay: 1 }),
      "firstDay is for unit 'week' only",
    ],
    ['a misspelt option', () => perMonth(1, { timezone: 'UTC' } as never), 'Did you mean "timeZone"?'],
    ['a burst', () => perMonth(1, { burst: 2 } as never), 'perMonth has no option "burst"'],
  ])('%s is rejected', (_, make, message) => {
    expect(make).toThrow(QuotaError)
    expect(make).toThrow(message)
  })

  test('without a time zone, periods are those of UTC, wherever the process runs', () => {
    for (const quota of [perMonth(1), perMonth(1, { timeZone: undefined }), perMonth(1, { timeZone: 'UTC' })]) {
      expect(quota.calendar?.startsAround(at('2026-06-15T00:00')).slice(1, 3)).toEqual([
        at('2026-06-01T00:00'),
        at('2026-07-01T00:00'),
      ])
    }
  })

  test('a week begins on its first day', () => {
    for (let firstDay = 1; firstDay <= 7; firstDay++) {
      const { calendar } = calendarWindow({ limit: 1, unit: 'week', firstDay })
      const [, start] = calendar?.startsAround(at('2026-11-25T12:00')) ?? []
      expect(new Date((start as Micros) / 1000).getUTCDay() || 7).toBe(firstDay)
    }
  })

  test('quotas are frozen data, and those of one zone share a calendar', () => {
    const options: CalendarWindowOptions = { limit: 1, unit: 'month', timeZone: 'Asia/Tokyo' }
    expect(Object.isFrozen(calendarWindow(options))).toBe(true)
    expect(calendarWindow(options)).toEqual(perMonth(1, { timeZone: 'Asia/Tokyo' }))
    expect(calendarWindow(options).calendar).toBe(perMonth(2, { timeZone: 'Asia/Tokyo' }).calendar)
    expect(JSON.parse(JSON.stringify(perMonth(1)))).toMatchObject({ calendar: { unit: 'month', timeZone: 'UTC' } })
  })
})

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

describe('when a quota changes', () => {
  const noon = at('2026-11-20T12:00')

  test.each<[string, Quota]>([
    ['windows from the first request', fixedWindow({ limit: 10, window: '30d', align: 'first' })],
    ['sliding windows', slidingWindow({ limit: 10, window: '30d' })],
    ['days', daily('UTC', 10)],
    ['months in another zone', perMonth(10, { timeZone: 'Asia/Tokyo' })],
  ])('the units of %s count in its month, and end with it', (_, before) => {
    const take = subject()
    take(before, noon, { cost: 9 })
    expect(take(perMonth(10), noon + HOUR, { cost: 2 })).toMatchObject({ allowed: false, remaining: 1 })
    expect(take(perMonth(10), at('2026-12-01T00:00'), { cost: 10 }).allowed).toBe(true)
  })

  test('the units of months count in windows from their first request, too', () => {
    const take = subject()
    take(perMonth(10), noon, { cost: 9 })
    expect(take(fixedWindow({ limit: 10, window: '30d', align: 'first' }), noon + HOUR).remaining).toBe(0)
  })
})

test('headers advertise the longest period, and the time until the period’s end', () => {
  const item = (quota: Quota) => headerItem({ name: 'plan', quota }).policy
  expect(item(perMonth(1_000))).toBe('"plan";q=1000;w=2678400')
  expect(item(calendarWindow({ limit: 1_000, unit: 'week' }))).toBe('"plan";q=1000;w=604800')
  expect(item(daily('Europe/Berlin', 1_000))).toBe('"plan";q=1000;w=86400')
})

test('a share of a quota has the same periods', () => {
  const quota = perMonth(10, { timeZone: 'Asia/Tokyo' })
  expect(divideQuota(quota, { replicas: 4 })).toEqual({ ...quota, limit: 2 })
  expect(divideQuota(quota, { replicas: 40 })).toEqual({ ...quota, limit: 1 })
})

test('a deny cache denies until the period ends, and not a microsecond longer', async () => {
  const clock = fakeClock()
  const behind = faultyStore(modelStore(clock))
  const store = withDenyCache(behind, { stopwatch: () => clock() / 1000, for: '40d' })
  const limiter = rateLimiter({ quota: perMonth(2), store })
  await limiter.consume('a', 2)
  await limiter.consume('a')
  const before = behind.calls
  clock.advanceMicros(31 * DAY - 1)
  expect((await limiter.consume('a')).retryAfterMs).toBe(0.001)
  expect(behind.calls).toBe(before)
  clock.advanceMicros(1)
  expect((await limiter.consume('a')).allowed).toBe(true)
})

test('a threshold is reported once a month', async () => {
  const clock = fakeClock()
  const events: string[] = []
  const onThreshold = ({ threshold }: ThresholdEvent) => events.push(`${threshold}`)
  const limiter = rateLimiter({ quota: perMonth(5), store: { ...modelStore(clock), clock }, onThreshold })
  await limiter.consume('a', 5)
  clock.advanceMicros(30 * DAY)
  await limiter.refund('a', 1)
  await limiter.consume('a', 1)
  expect(events).toEqual(['0.8', '1'])
  clock.advanceMicros(DAY)
  await limiter.consume('a', 5)
  expect(events).toEqual(['0.8', '1', '0.8', '1'])
})

describe('into the next month', () => {
  afterEach(() => vi.useRealTimers())

  test('a caller waits, and a reservation that cannot wait is denied with the time until then', async () => {
    vi.useFakeTimers({ now: 0 })
    const store = modelStore(() => START + Date.now() * 1_000)
    const limiter = rateLimiter({ quota: perMonth(2), store })
    await limiter.consume('a', 2)
    const reserved = await limiter.reserve('a')
    expect(reserved).toMatchObject({ allowed: false, retryAfterMs: 31 * 86_400_000 })
    await reserved.cancel()
    const turns: number[] = []
    const waits = [1, 1, 1].map(() => limiter.wait('a').then(() => turns.push(Date.now() / 86_400_000)))
    await vi.runAllTimersAsync()
    await Promise.all(waits)
    // The third waits through February.
    expect(turns).toEqual([31, 31, 59])
  })
})
