import { Temporal } from '@js-temporal/polyfill'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { type Calendar, type CalendarUnit, calendarWindow, type Micros } from '../src/index.ts'

/** The same boundaries by Temporal. */
function oracle(zone: string, unit: CalendarUnit, firstDay: number, ms: number): readonly Micros[] {
  const date = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).toPlainDate()
  const first =
    unit === 'month'
      ? date.with({ day: 1 })
      : unit === 'week'
        ? date.subtract({ days: (date.dayOfWeek + 7 - firstDay) % 7 })
        : date
  const starts = [-3, -2, -1, 0, 1, 2, 3, 4].map(
    (i) => first.add({ [`${unit}s`]: i }).toZonedDateTime(zone).epochMilliseconds * 1000,
  )
  const distinct = [...new Set(starts)]
  const at = distinct.findLastIndex((start) => start <= ms * 1000)
  return distinct.slice(at - 1, at + 3)
}

const calendarOf = (timeZone: string, unit: CalendarUnit, firstDay = 1): Calendar =>
  calendarWindow({ limit: 1, unit, timeZone, ...(unit === 'week' && { firstDay }) }).calendar as Calendar

const utc = (text: string): number => Date.parse(`${text}Z`)

const HOUR_MS = 3_600_000
const WEEK_MS = 168 * HOUR_MS

/**
 * The last change of a zone's clocks in the 60 weeks before a time, or the time without one. The polyfill of Temporal looks for
 * changes too, but for some zones and times its search never ends.
 */
function changeBefore(zone: string, ms: number): number {
  const offsetAt = (at: number) => Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).offset
  const offset = offsetAt(ms)
  const weeks = Array.from({ length: 60 }, (_, i) => ms - (i + 1) * WEEK_MS)
  let before = weeks.find((at) => offsetAt(at) !== offset)
  if (before === undefined) return ms
  let after = before + WEEK_MS
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (offsetAt(middle) === offset) after = middle
    else before = middle
  }
  return after
}

describe('the starts of periods are those of Temporal', () => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC')
  const units = fc.constantFrom<CalendarUnit>('month', 'week', 'day')
  const moments = fc.integer({ min: utc('1970-03-01T00:00'), max: utc('2120-01-01T00:00') })

  test('in any zone, at any time from 1970 to 2120', () => {
    fc.assert(
      fc.property(zones, units, fc.integer({ min: 1, max: 7 }), moments, (zone, unit, firstDay, ms) => {
        expect(calendarOf(zone, unit, firstDay).startsAround(ms * 1000)).toEqual(oracle(zone, unit, firstDay, ms))
      }),
      { numRuns: 200 },
    )
  })

  test('in the days around a change of the clocks', () => {
    const around = fc.integer({ min: -60 * HOUR_MS, max: 60 * HOUR_MS })
    fc.assert(
      fc.property(zones, units, moments, around, (zone, unit, from, after) => {
        const ms = Math.max(changeBefore(zone, from) + after, utc('1970-03-01T00:00'))
        expect(calendarOf(zone, unit).startsAround(ms * 1000)).toEqual(oracle(zone, unit, 1, ms))
      }),
      { numRuns: 200 },
    )
  })

  test.each([
    ['Europe/Berlin', '2026-03-29'],
    ['Europe/Berlin', '2026-10-25'],
    // Summer is its standard time, and winter has a negative offset from it.
    ['Europe/Dublin', '2026-10-25'],
    // Midnight is skipped.
    ['America/Sao_Paulo', '2018-11-04'],
    ['Africa/Cairo', '2026-04-24'],
    ['Asia/Beirut', '2026-03-29'],
    ['America/Havana', '2026-03-08'],
    // Midnight comes twice.
    ['America/Sao_Paulo', '2018-02-18'],
    ['America/Havana', '2026-11-01'],
    ['America/St_Johns', '2010-11-07'],
    // The day does not exist.
    ['Pacific/Apia', '2011-12-30'],
    ['Pacific/Kiritimati', '1994-12-31'],
    ['Pacific/Kwajalein', '1993-08-21'],
    // Offsets of half an hour, and of seconds.
    ['Australia/Lord_Howe', '2026-04-05'],
    ['Africa/Monrovia', '1972-01-07'],
    ['Africa/Casablanca', '2026-02-15'],
    ['Antarctica/Casey', '2010-03-05'],
    ['America/New_York', '2100-02-28'],
  ])('in %s, in each hour around %s', (zone, day) => {
    for (const unit of ['day', 'week', 'month'] as const) {
      for (let hour = -40; hour <= 64; hour += 4) {
        const ms = utc(`${day}T00:00`) + hour * HOUR_MS + 1_234
        expect([hour, calendarOf(zone, unit).startsAround(ms * 1000)]).toEqual([hour, oracle(zone, unit, 1, ms)])
      }
    }
  })
})

test('a period begins at its first microsecond, and ends before that of the next', () => {
  const calendar = calendarOf('Europe/Berlin', 'month')
  const march = utc('2026-02-28T23:00') * 1000
  const april = utc('2026-03-31T22:00') * 1000
  expect(calendar.startsAround(march).slice(1, 3)).toEqual([march, april])
  expect(calendar.startsAround(april - 1).slice(1, 3)).toEqual([march, april])
  expect(calendar.startsAround(april)[1]).toBe(april)
})

test('boundaries are computed once for a period, also if two clocks are in two periods', () => {
  const calendar = calendarOf('Pacific/Chatham', 'day')
  const format = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts')
  const noon = utc('2026-07-01T12:00') * 1000
  for (let i = 0; i < 1_000; i++) calendar.startsAround(noon + (i % 2) * 86_400e6 + i)
  const computed = format.mock.calls.length
  for (let i = 0; i < 1_000; i++) calendar.startsAround(noon + (i % 2) * 86_400e6 + i)
  expect(computed).toBeGreaterThan(0)
  expect(format).toHaveBeenCalledTimes(computed)
  format.mockRestore()
})
