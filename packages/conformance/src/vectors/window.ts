import { fixedWindow, slidingLog, slidingWindow } from '@spillway/core'
import { made } from '../made.ts'
import type { Vector } from './vector.ts'

/** Vectors of windows and logs. */
export const windowVectors: readonly Vector[] = /* @__PURE__ */ made(() => [
  {
    name: 'a fixed window refills completely at its end',
    quota: fixedWindow({ limit: 3, window: '10s' }),
    rows: [
      [2_000, 'consume', 2, true, 1, 0, 8_000],
      [9_999, 'consume', 2, false, 1, 1, 1],
      [10_000, 'consume', 3, true, 0, 0, 10_000],
      [12_500, 'consume', 1, false, 0, 7_500, 7_500],
      [20_000, 'peek', 3, true, 3, 0, 0],
    ],
  },
  {
    name: 'a fixed window may start off the hour',
    quota: fixedWindow({ limit: 1, window: '10s', offset: '3s' }),
    rows: [
      [0, 'consume', 1, true, 0, 0, 3_000],
      [2_999, 'consume', 1, false, 0, 1, 1],
      [3_000, 'consume', 1, true, 0, 0, 10_000],
    ],
  },
  {
    name: 'a fixed window of more units than microseconds is of the clock, too, and owes what is charged until its end',
    quota: fixedWindow({ limit: 1e12, window: '10s', offset: '3s' }),
    rows: [
      [0, 'consume', 1e12 - 1, true, 1, 0, 3_000],
      [2_999.999, 'consume', 2, false, 1, 0.001, 0.001],
      [2_999.999, 'consume', 1, true, 0, 0, 0.001],
      [3_000, 'consume', 1e12, true, 0, 0, 10_000],
      // The clock steps back behind the start of the window, which then is the one before.
      [2_000, 'consume', 1, false, 0, 1_000, 1_000],
      [3_000, 'consume', 1, true, 1e12 - 1, 0, 10_000],
      [9_000, 'charge', 2e12, true, 0, 0, 4_000],
      [9_000, 'consume', 1e12 + 1, false, 0, Infinity, 4_000],
      [13_000, 'consume', 5, true, 1e12 - 5, 0, 10_000],
      [14_000, 'refund', 5, true, 1e12, 0, 0, 8],
      // Of an earlier window, nothing is left to refund.
      [14_000, 'consume', 3, true, 1e12 - 3, 0, 9_000],
      [14_000, 'refund', 1, true, 1e12 - 3, 0, 9_000, 0],
    ],
  },
  {
    name: 'a fixed window may start at the first request, and ends all at once',
    quota: fixedWindow({ limit: 3, window: '10s', align: 'first' }),
    rows: [
      [4_000, 'peek', 4, false, 3, Infinity, 0],
      // A denial starts no window.
      [4_000, 'consume', 4, false, 3, Infinity, 0],
      [6_000, 'consume', 2, true, 1, 0, 10_000],
      [9_000, 'consume', 2, false, 1, 7_000, 7_000],
      [15_999.999, 'consume', 1, true, 0, 0, 0.001],
      [15_999.999, 'consume', 1, false, 0, 0.001, 0.001],
      [16_000, 'peek', 3, true, 3, 0, 0],
      // The next window starts at the next request, not at the end of the last one.
      [17_000, 'consume', 3, true, 0, 0, 10_000],
      [26_999.999, 'consume', 1, false, 0, 0.001, 0.001],
      [27_000, 'consume', 1, true, 2, 0, 10_000],
    ],
  },
  {
    name: 'a fixed window from the first request returns refunds to the window that counts them, and owes what is charged',
    quota: fixedWindow({ limit: 3, window: '10s', align: 'first' }),
    rows: [
      [0, 'consume', 2, true, 1, 0, 10_000],
      [4_000, 'refund', 2, true, 3, 0, 0, 0],
      // The window of the first request continues.
      [4_000, 'consume', 3, true, 0, 0, 6_000],
      [10_000, 'consume', 1, true, 2, 0, 10_000],
      [11_000, 'refund', 3, true, 2, 0, 9_000, 2],
      [12_000, 'charge', 5, true, 0, 0, 8_000],
      [12_000, 'consume', 1, false, 0, 8_000, 8_000],
      [20_000, 'consume', 3, true, 0, 0, 10_000],
    ],
  },
  {
    name: 'a fixed window from the first request starts now where the clock has stepped back before it',
    quota: fixedWindow({ limit: 3, window: '10s', align: 'first' }),
    rows: [
      [0, 'consume', 3, true, 0, 0, 10_000],
      [-1_000, 'consume', 1, false, 0, 10_000, 10_000],
      [8_999.999, 'consume', 1, false, 0, 0.001, 0.001],
      [9_000, 'consume', 1, true, 2, 0, 10_000],
    ],
  },
  {
    name: 'a sliding window fades the window before',
    quota: slidingWindow({ limit: 10, window: '1m' }),
    rows: [
      [0, 'consume', 10, true, 0, 0, 120_000],
      [0, 'consume', 1, false, 0, 60_000.001, 120_000],
      [60_000, 'consume', 1, false, 0, 0.001, 60_000],
      [60_000.001, 'consume', 1, true, 0, 0, 119_999.999],
      [75_000, 'peek', 2, true, 2, 0, 105_000],
      [75_000, 'consume', 3, false, 2, 3_000.001, 105_000],
      [75_000, 'consume', 11, false, 2, Infinity, 105_000],
      [75_000, 'refund', 1, true, 3, 0, 45_000],
      [75_000, 'charge', 5, true, 0, 0, 105_000],
      // The clock steps back: the window starts again, with both counts in full.
      [30_000, 'consume', 1, false, 0, 30_000.001, 120_000],
      [60_000, 'consume', 1, false, 0, 0.001, 90_000],
      [60_000.001, 'consume', 1, true, 0, 0, 89_999.999],
      [200_000, 'peek', 10, true, 10, 0, 0],
    ],
  },
  {
    name: 'a refund of a take in a sliding window is of the window that counts it, from its first microsecond',
    quota: slidingWindow({ limit: 10, window: '10s' }),
    rows: [
      [0, 'consume', 4, true, 6, 0, 20_000],
      [2_000, 'refund', 1, true, 7, 0, 18_000, 0],
      [10_000, 'consume', 2, true, 5, 0, 20_000],
      [12_000, 'refund', 1, true, 7, 0, 18_000, 0],
      [12_000, 'refund', 1, true, 8, 0, 18_000, 2],
      // The debt ended with the window, two windows ago.
      [20_000, 'refund', 1, true, 9, 0, 10_000, 0],
    ],
  },
  {
    name: 'a charge of a sliding window is capped at the largest exact count',
    quota: slidingWindow({ limit: 10, window: '1m' }),
    rows: [
      [0, 'charge', 2 ** 50, true, 0, 0, 120_000],
      [0, 'charge', 2 ** 50, true, 0, 0, 120_000],
      // The count is limited to 3 × 2^50 / 60,000,000 ticks, some 56 million units. There is room again 10 µs before they expire.
      [0, 'consume', 1, false, 0, 119_999.99, 120_000],
    ],
  },
  {
    name: 'a charge of a full sliding log is a debt, together with the last take, from that time on',
    quota: slidingLog({ limit: 3, window: '10s' }),
    rows: [
      [0, 'consume', 3, true, 0, 0, 10_000],
      [4_000, 'charge', 1, true, 0, 0, 10_000],
      [10_000, 'consume', 1, false, 0, 4_000, 4_000],
      [14_000, 'consume', 3, true, 0, 0, 10_000],
    ],
  },
  {
    name: 'a sliding log counts exactly what is in the window',
    quota: slidingLog({ limit: 3, window: '10s' }),
    rows: [
      [0, 'consume', 1, true, 2, 0, 10_000],
      [4_000, 'consume', 2, true, 0, 0, 10_000],
      [5_000, 'consume', 1, false, 0, 5_000, 9_000],
      [5_000, 'consume', 2, false, 0, 9_000, 9_000],
      [5_000, 'consume', 4, false, 0, Infinity, 9_000],
      [9_999.999, 'consume', 1, false, 0, 0.001, 4_000.001],
      [10_000, 'consume', 1, true, 0, 0, 10_000],
      [10_000, 'refund', 1, true, 1, 0, 4_000],
      // The clock steps back: later takes count as taken now.
      [-1_000, 'consume', 2, false, 1, 10_000, 10_000],
      [8_999.999, 'consume', 2, false, 1, 0.001, 0.001],
      [9_000, 'consume', 2, true, 1, 0, 10_000],
      [9_500, 'charge', 5, true, 0, 0, 10_000],
      [19_499.999, 'consume', 1, false, 0, 0.001, 0.001],
    ],
  },
])
