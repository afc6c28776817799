import { calendarWindow, perMonth } from '@spillway/core'
import { made } from '../made.ts'
import type { Vector } from './vector.ts'

/** Vectors of calendars. Times count from 2026-01-01 00:00 UTC, a Thursday. */
export const calendarVectors: readonly Vector[] = /* @__PURE__ */ made(() => [
  {
    name: 'a month ends at midnight of its last day, whatever its length, and a clock that steps back gives no second quota',
    quota: perMonth(3),
    rows: [
      [-2_000, 'consume', 2, true, 1, 0, 2_000],
      [-0.001, 'consume', 2, false, 1, 0.001, 0.001],
      [0, 'consume', 3, true, 0, 0, 2_678_400_000],
      [0, 'consume', 4, false, 0, Infinity, 2_678_400_000],
      // The clock steps back into December: January's units are still consumed.
      [-1_000, 'consume', 1, false, 0, 2_678_401_000, 2_678_401_000],
      [2_678_399_999.999, 'consume', 1, false, 0, 0.001, 0.001],
      [2_678_400_000, 'consume', 1, true, 2, 0, 2_419_200_000],
      // January's units have ended with January.
      [2_678_400_000, 'refund', 1, true, 2, 0, 2_419_200_000, 2],
      [2_678_400_000, 'refund', 1, true, 3, 0, 0, 6],
      [2_678_400_000, 'charge', 5, true, 0, 0, 2_419_200_000],
      [5_097_600_000, 'consume', 3, true, 0, 0, 2_678_400_000],
    ],
  },
  {
    name: 'a day in Berlin has 23 hours in March and 25 in October',
    quota: calendarWindow({ limit: 2, unit: 'day', timeZone: 'Europe/Berlin' }),
    rows: [
      [7_513_200_000, 'consume', 2, true, 0, 0, 82_800_000],
      [7_516_800_000, 'consume', 1, false, 0, 79_200_000, 79_200_000],
      [7_595_999_999.999, 'consume', 1, false, 0, 0.001, 0.001],
      [7_596_000_000, 'consume', 1, true, 1, 0, 86_400_000],
      [25_653_600_000, 'consume', 2, true, 0, 0, 90_000_000],
      [25_743_599_999.999, 'consume', 1, false, 0, 0.001, 0.001],
      [25_743_600_000, 'consume', 1, true, 1, 0, 86_400_000],
    ],
  },
  {
    name: 'a week ends on Sunday at midnight',
    quota: calendarWindow({ limit: 5, unit: 'week' }),
    rows: [
      [0, 'consume', 5, true, 0, 0, 345_600_000],
      [345_599_999.999, 'peek', 1, false, 0, 0.001, 0.001],
      [345_600_000, 'consume', 5, true, 0, 0, 604_800_000],
    ],
  },
  {
    name: 'a day that a clock was days ahead for is this day, and ends with it',
    quota: calendarWindow({ limit: 2, unit: 'day' }),
    rows: [
      [0, 'consume', 1, true, 1, 0, 86_400_000],
      [172_800_000, 'consume', 2, true, 0, 0, 86_400_000],
      [36_000_000, 'consume', 1, false, 0, 50_400_000, 50_400_000],
      [86_400_000, 'consume', 2, true, 0, 0, 86_400_000],
    ],
  },
])
