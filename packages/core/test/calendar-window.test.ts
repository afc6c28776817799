import { fakeClock, faultyStore, modelStore, START } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { headerItem } from '../src/http/headers/header-item.ts'
import {
  type Calendar,
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
import { at, DAY, daily, HOUR, subject } from './days.ts'

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
    ['a limit', () => perMonth(0.5), 'perMonth limit must be a whole number, 0 or more; got 0.5.'],
    [
      'a first day',
      () => calendarWindow({ limit: 1, unit: 'week', firstDay: 0 }),
      'firstDay must be 1, Monday, to 7, Sunday; got 0.',
    ],
    [
      'a first day of a month',
      () => perMonth(1, { firstDay: 32 }),
      'perMonth firstDay must be 1 to 31, a day of the month; got 32.',
    ],
    ['a first day of a day', () => calendarWindow({ limit: 1, unit: 'day', firstDay: 1 }), 'is for months and weeks'],
    ['a misspelt option', () => perMonth(1, { timezone: 'UTC' } as never), 'Did you mean "timeZone"?'],
    ['a burst', () => perMonth(1, { burst: 2 } as never), 'perMonth has no option "burst"'],
  ])('%s is rejected', (_, make, message) => {
    expect(make).toThrow(QuotaError)
    expect(make).toThrow(message)
  })

  test('a month may begin on any day, and begins on its last one if it is shorter', () => {
    const startsOf = (firstDay: number, timeZone: string, now: Micros) =>
      perMonth(1, { firstDay, timeZone })
        .calendar?.startsAround(now)
        .map((start) => new Date(start / 1000).toISOString().slice(0, 16))
    expect(startsOf(31, 'UTC', at('2026-03-01T00:00'))).toEqual(
      ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30'].map((day) => `${day}T00:00`),
    )
    expect(startsOf(31, 'UTC', at('2026-02-27T23:59'))?.[1]).toBe('2026-01-31T00:00')
    expect(startsOf(29, 'UTC', at('2028-02-29T00:00'))?.[1]).toBe('2028-02-29T00:00')
    expect(startsOf(15, 'UTC', at('2026-01-14T23:59'))?.slice(1, 3)).toEqual(['2025-12-15T00:00', '2026-01-15T00:00'])
    expect(startsOf(30, 'Europe/Berlin', at('2026-03-31T00:00'))?.[1]).toBe('2026-03-29T22:00')
    for (let day = 1; day <= 31; day++) {
      const calendar = perMonth(1, { firstDay: day, timeZone: 'America/New_York' }).calendar as Calendar
      for (let hour = 0; hour < 120; hour++) {
        const now = at('2027-06-01T05:00') + hour * 73 * HOUR
        const [before, start, end, next] = calendar.startsAround(now) as unknown as [Micros, Micros, Micros, Micros]
        expect([before < start, start <= now, now < end, end < next]).toEqual([true, true, true, true])
        expect(end - start).toBeLessThanOrEqual(31 * DAY + HOUR)
        expect(end - start).toBeGreaterThanOrEqual(28 * DAY - HOUR)
      }
    }
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
  const item = (quota: Quota) => headerItem({ name: 'plan', quota }).policy[1]
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
