import {
  fixedWindow,
  leakyBucket,
  penalty,
  perMinute,
  perSecond,
  type Quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
import type { Verb } from '@spillway/core/internal'

/** A call and its result. Times are in milliseconds after {@link START}, and may step back. */
export type Row = readonly [
  atMs: number,
  verb: Verb,
  cost: number,
  allowed: boolean,
  remaining: number,
  retryAfterMs: number,
  resetAfterMs: number,
  /** The index of the row whose take is refunded, from 0. Without it, the refund has no handle. */
  of?: number,
]

/** A sequence of calls on one key under one quota, with results that were calculated manually. */
export interface Vector {
  readonly name: string
  readonly quota: Quota
  readonly rows: readonly Row[]
}

/** Golden vectors: the results that every store, and every port to another language, must return. */
export const vectors: readonly Vector[] = [
  {
    name: 'ten a minute drains, waits, refunds and fills',
    quota: perMinute(10),
    rows: [
      [0, 'consume', 1, true, 9, 0, 6_000],
      [0, 'consume', 9, true, 0, 0, 60_000],
      [0, 'consume', 1, false, 0, 6_000, 60_000],
      [5_999.999, 'consume', 1, false, 0, 0.001, 54_000.001],
      [6_000, 'consume', 1, true, 0, 0, 60_000],
      [6_000, 'peek', 1, false, 0, 6_000, 60_000],
      [18_000, 'refund', 1, true, 3, 0, 42_000],
      [18_000, 'consume', 4, false, 3, 6_000, 42_000],
      // A cost above the capacity never fits.
      [18_000, 'consume', 11, false, 3, Infinity, 42_000],
      [18_000, 'refund', 100, true, 10, 0, 0],
      [1_000_000, 'peek', 10, true, 10, 0, 0],
    ],
  },
  {
    name: 'a burst of one paces evenly',
    quota: perSecond(3, { burst: 1 }),
    rows: [
      // A third of a second rounds up to the microsecond: the quota is never exceeded.
      [0, 'consume', 1, true, 0, 0, 333.334],
      [333.333, 'consume', 1, false, 0, 0.001, 0.001],
      [333.334, 'consume', 1, true, 0, 0, 333.334],
    ],
  },
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
    name: 'a new key starts with its initial units, and again once it has been full for long',
    quota: tokenBucket({ limit: 10, per: '10s', initial: 3, keepFull: '20s' }),
    rows: [
      [0, 'peek', 4, false, 3, 1_000, 7_000],
      // A denial starts the refill, a peek does not.
      [500, 'consume', 4, false, 3, 1_000, 7_000],
      [1_499.999, 'consume', 4, false, 3, 0.001, 6_000.001],
      [1_500, 'consume', 4, true, 0, 0, 10_000],
      [11_500, 'peek', 10, true, 10, 0, 0],
      [31_499.999, 'peek', 10, true, 10, 0, 0],
      [31_500, 'peek', 10, false, 3, 7_000, 7_000],
      [31_499.999, 'consume', 1, true, 9, 0, 1_000],
      [52_499.998, 'consume', 10, true, 0, 0, 10_000],
      [82_499.998, 'refund', 2, true, 5, 0, 5_000],
      [82_499.998, 'charge', 9, true, 0, 0, 14_000],
    ],
  },
  {
    name: 'a bucket that refills at intervals starts with its initial units, too',
    quota: tokenBucket({ limit: 4, per: '10s', refill: '10s', burst: 8, initial: 0, keepFull: '10s' }),
    rows: [
      [2_000, 'consume', 1, false, 0, 8_000, 18_000],
      [9_999.999, 'consume', 1, false, 0, 0.001, 10_000.001],
      [10_000, 'consume', 1, true, 3, 0, 20_000],
      [30_000, 'peek', 8, true, 8, 0, 0],
      // Full at 22.5 s in evenly counted time. The state is kept for the interval of 10 s after that, and for 10 s more.
      [42_499.999, 'peek', 8, true, 8, 0, 0],
      [42_500, 'peek', 8, false, 0, 17_500, 17_500],
    ],
  },
  {
    name: 'interval refill adds whole amounts, even if they do not divide the interval',
    quota: tokenBucket({ limit: 7, per: '10s', refill: '10s', burst: 21 }),
    rows: [
      [0, 'consume', 21, true, 0, 0, 30_000],
      [9_999, 'consume', 1, false, 0, 1, 20_001],
      [10_000, 'consume', 7, true, 0, 0, 30_000],
      [10_000, 'consume', 8, false, 0, 20_000, 30_000],
      [25_000, 'consume', 7, true, 0, 0, 25_000],
    ],
  },
  {
    // A unit takes 142,857 1/7 µs. Rounded up each time, seven units would take 6 µs more than a second.
    name: 'parts of a microsecond add up: seven a second',
    quota: perSecond(7),
    rows: [
      [0, 'consume', 1, true, 6, 0, 142.858],
      [0, 'consume', 2, true, 4, 0, 428.572],
      [0, 'consume', 4, true, 0, 0, 1_000],
      [142.857, 'consume', 1, false, 0, 0.001, 857.143],
      // Full again at 1,142,857 1/7 µs.
      [142.858, 'consume', 1, true, 0, 0, 1_000],
      // The third take ends at 1,000,000 µs: half a second is returned, and the bucket is full at 642,857 1/7, in one unit.
      [500, 'refund', 4, true, 6, 0, 142.858, 2],
      [500, 'consume', 6, true, 0, 0, 1_000],
      [500, 'consume', 1, false, 0, 142.858, 1_000],
      // Full at 1,071,428 4/7 µs: three units and a part are missing.
      [600, 'refund', 3, true, 3, 0, 471.429, 6],
      // Full at 2,214,285 5/7 µs: the next unit is there at 1,357,142 6/7.
      [600, 'charge', 8, true, 0, 0, 1_614.286],
      [600, 'consume', 1, false, 0, 757.143, 1_614.286],
      [1_357.142, 'consume', 1, false, 0, 0.001, 857.144],
      [1_357.143, 'consume', 1, true, 0, 0, 1_000],
    ],
  },
  {
    // A unit takes a third of a microsecond.
    name: 'three units a microsecond',
    quota: perSecond(3_000_000, { burst: 5 }),
    rows: [
      [0, 'consume', 5, true, 0, 0, 0.002],
      [0, 'consume', 1, false, 0, 0.001, 0.002],
      [0.001, 'consume', 3, true, 0, 0, 0.002],
      [0.001, 'consume', 1, false, 0, 0.001, 0.002],
      [0.002, 'peek', 1, true, 3, 0, 0.001],
      [0.002, 'consume', 4, false, 3, 0.001, 0.001],
      [0.003, 'consume', 5, true, 0, 0, 0.002],
    ],
  },
  {
    name: 'a charge goes into debt, and later requests wait until it is paid',
    quota: perMinute(10),
    rows: [
      [0, 'charge', 25, true, 0, 0, 150_000],
      [0, 'consume', 1, false, 0, 96_000, 150_000],
      [60_000, 'refund', 5, true, 0, 0, 60_000],
      [66_000, 'consume', 1, true, 0, 0, 60_000],
    ],
  },
  {
    name: 'an overdraft serves a large request now and lets the next one wait for it',
    quota: tokenBucket({ limit: 1, per: '1s', burst: 1, overdraft: 8 }),
    rows: [
      [0, 'consume', 1, true, 0, 0, 1_000],
      [0, 'consume', 8, true, 0, 0, 9_000],
      [0, 'consume', 1, false, 0, 8_000, 9_000],
      [0, 'consume', 10, false, 0, Infinity, 9_000],
      [8_000, 'consume', 1, true, 0, 0, 2_000],
    ],
  },
  {
    name: 'a clock that steps back far adds no units and blocks no client',
    quota: perMinute(10),
    rows: [
      [0, 'consume', 10, true, 0, 0, 60_000],
      [-20_000, 'consume', 1, false, 0, 6_000, 60_000],
      [-3_600_000, 'consume', 1, false, 0, 6_000, 60_000],
      [-3_594_000, 'consume', 1, true, 0, 0, 60_000],
    ],
  },
  {
    name: 'a clock that steps back a little keeps what was used',
    quota: perMinute(10),
    rows: [
      [0, 'consume', 2, true, 8, 0, 12_000],
      [-6_000, 'peek', 1, true, 7, 0, 18_000],
      [0, 'peek', 1, true, 8, 0, 12_000],
    ],
  },
  {
    name: 'a leaky bucket lets units queue up to its length',
    quota: leakyBucket({ limit: 1, per: '1s', queue: 2 }),
    rows: [
      [0, 'consume', 1, true, 2, 0, 1_000],
      [0, 'consume', 2, true, 0, 0, 3_000],
      [0, 'consume', 1, false, 0, 1_000, 3_000],
      [999.999, 'consume', 1, false, 0, 0.001, 2_000.001],
      [1_000, 'consume', 1, true, 0, 0, 3_000],
      [1_000, 'consume', 4, false, 0, Infinity, 3_000],
    ],
  },
  {
    name: 'a refund returns no units that have refilled: not by way of a take that another refund has moved down',
    quota: perSecond(1, { burst: 10 }),
    rows: [
      [0, 'consume', 5, true, 5, 0, 5_000],
      [0, 'consume', 5, true, 0, 0, 10_000],
      [0, 'refund', 5, true, 5, 0, 5_000, 0],
      [5_000, 'consume', 10, true, 0, 0, 10_000],
      [5_000, 'refund', 5, true, 0, 0, 10_000, 1],
      [5_000, 'consume', 5, false, 0, 5_000, 10_000],
      [20_000, 'consume', 1, true, 9, 0, 1_000],
    ],
  },
  {
    name: 'takes of one moment are refunded whole, in any order',
    quota: perSecond(1, { burst: 10 }),
    rows: [
      [0, 'consume', 4, true, 6, 0, 4_000],
      [0, 'consume', 3, true, 3, 0, 7_000],
      [0, 'consume', 3, true, 0, 0, 10_000],
      [0, 'refund', 3, true, 3, 0, 7_000, 1],
      [0, 'refund', 4, true, 7, 0, 3_000, 0],
      [0, 'refund', 3, true, 10, 0, 0, 2],
    ],
  },
  {
    name: 'a refund returns the part of a take that has not refilled yet',
    quota: perSecond(1, { burst: 10 }),
    rows: [
      [0, 'consume', 4, true, 6, 0, 4_000],
      [0, 'consume', 4, true, 2, 0, 8_000],
      [3_000, 'refund', 4, true, 6, 0, 4_000, 0],
      [3_500, 'refund', 4, true, 10, 0, 0, 1],
    ],
  },
  {
    name: 'a refunded turn is free while there are later turns, which are kept; the last one is taken again',
    quota: leakyBucket({ limit: 1, per: '1s', queue: 3 }),
    rows: [
      [0, 'consume', 1, true, 3, 0, 1_000],
      [0, 'consume', 1, true, 2, 0, 2_000],
      [0, 'consume', 1, true, 1, 0, 3_000],
      [0, 'consume', 1, true, 0, 0, 4_000],
      [0, 'refund', 1, true, 0, 0, 4_000, 1],
      [0, 'consume', 1, false, 0, 1_000, 4_000],
      [500, 'refund', 1, true, 1, 0, 2_500, 3],
      [500, 'refund', 1, true, 2, 0, 1_500, 2],
      [500, 'consume', 1, true, 1, 0, 2_500],
      [500, 'consume', 2, false, 1, 500, 2_500],
    ],
  },
  {
    name: 'a partly refunded reservation keeps its turn, and so do takes before it that are refunded then',
    quota: leakyBucket({ limit: 1, per: '1s', queue: 9 }),
    rows: [
      [0, 'consume', 3, true, 7, 0, 3_000],
      [0, 'consume', 5, true, 2, 0, 8_000],
      [0, 'refund', 2, true, 4, 0, 6_000, 1],
      [0, 'refund', 3, true, 4, 0, 6_000, 0],
      [7_500, 'consume', 1, true, 9, 0, 1_000],
    ],
  },
  {
    name: 'a take of a state that was emptied since returns nothing',
    quota: perSecond(1, { burst: 10 }),
    rows: [
      [0, 'consume', 5, true, 5, 0, 5_000],
      [5_000, 'consume', 5, true, 5, 0, 5_000],
      [5_000, 'refund', 5, true, 5, 0, 5_000, 0],
      [5_000, 'refund', 5, true, 10, 0, 0, 1],
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
      // The count is limited to 2^53 / 60,000,000 ticks, some 150 million units. There is room again 3 µs before they expire.
      [0, 'consume', 1, false, 0, 119_999.997, 120_000],
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
  {
    name: 'a key that warms up starts at a third of its rate, gets to all of it, and is slow again after idle time',
    quota: warmingUp({ limit: 1, per: '1s', warmUpPeriod: '4s', burst: 3 }),
    rows: [
      [0, 'peek', 1, true, 1, 0, 0],
      // From 4 s cold to 3 s: 1 s, and (2² − 1²) / 2 s more.
      [0, 'consume', 1, true, 0, 0, 2_500],
      [2_499.999, 'consume', 1, false, 0, 0.001, 0.001],
      [2_500, 'consume', 1, true, 0, 0, 1_500],
      [4_000, 'consume', 1, true, 0, 0, 1_000],
      // A request does not wait for its units; the next one does.
      [5_000, 'consume', 3, true, 0, 0, 3_000],
      [5_000, 'consume', 4, false, 0, Infinity, 3_000],
      [7_000, 'consume', 1, false, 0, 1_000, 1_000],
      [8_000, 'consume', 1, true, 0, 0, 1_000],
      // Three seconds idle.
      [12_000, 'consume', 1, true, 0, 0, 1_500],
      // As cold as a new key.
      [100_000, 'consume', 2, true, 0, 0, 4_000],
    ],
  },
  {
    name: 'a refund of the last take of a key that warms up restores the state before, one of an earlier take nothing',
    quota: warmingUp({ limit: 1, per: '1s', warmUpPeriod: '4s', burst: 3 }),
    rows: [
      [0, 'consume', 2, true, 0, 0, 4_000],
      // As if it had taken one unit.
      [1_000, 'refund', 1, true, 0, 0, 1_500, 0],
      [2_500, 'consume', 1, true, 0, 0, 1_500],
      [2_600, 'refund', 1, true, 1, 0, 0, 2],
      // 3 s cold before, and idle for 0.1 s.
      [2_600, 'consume', 1, true, 0, 0, 1_600],
      [3_000, 'refund', 1, true, 0, 0, 1_200, 0],
      // Without a handle: a unit from 2.1 s cold to 3.1 s, which took 1.6 s.
      [3_000, 'refund', 1, true, 1, 0, 0],
      [3_000, 'charge', 1, true, 0, 0, 2_000],
      [3_000, 'charge', 2, true, 0, 0, 4_125],
    ],
  },
  {
    name: 'a key that warms up for hours rounds its waits up to the microsecond',
    quota: warmingUp({ limit: 1, per: '1000s', warmUpPeriod: '2h' }),
    rows: [
      // 1,000 s, and (3,600² − 2,600²) / 3,600 s more.
      [0, 'consume', 1, true, 0, 0, 2_722_222.223],
      [2_722_222.222, 'consume', 1, false, 0, 0.001, 0.001],
      [2_722_222.223, 'consume', 1, true, 0, 0, 2_166_666.667],
    ],
  },
  {
    name: 'a key that warms up waits as long as before where the clock has stepped back, and counts thirds exactly',
    quota: warmingUp({ limit: 3, per: '1s', warmUpPeriod: '1ms' }),
    rows: [
      [0, 'consume', 1, true, 0, 0, 333.834],
      [-1_000, 'consume', 1, false, 0, 333.834, 333.834],
      [-666.167, 'consume', 1, false, 0, 0.001, 0.001],
      [-666.166, 'consume', 1, true, 0, 0, 333.334],
      [-666.166, 'charge', 2, true, 0, 0, 1_000],
    ],
  },
  {
    name: 'a penalty blocks a key that has used up its units, which then count from zero',
    quota: penalty({ after: 3, within: '10s', block: '1m' }),
    rows: [
      [0, 'consume', 1, true, 2, 0, 10_000],
      [4_000, 'consume', 1, true, 1, 0, 6_000],
      [4_000, 'consume', 2, false, 1, 6_000, 6_000],
      [4_000, 'consume', 4, false, 1, Infinity, 6_000],
      [9_999.999, 'consume', 1, true, 0, 0, 60_000],
      [9_999.999, 'consume', 1, false, 0, 60_000, 60_000],
      [69_999.998, 'consume', 1, false, 0, 0.001, 0.001],
      [69_999.999, 'consume', 3, true, 0, 0, 60_000],
      [200_000, 'consume', 2, true, 1, 0, 10_000],
      // The window is over.
      [210_000, 'consume', 2, true, 1, 0, 10_000],
    ],
  },
  {
    name: 'the blocks of a penalty grow to the longest, and are forgiven',
    quota: penalty({ after: 1, within: '1s', block: '10s', grow: 3, max: '60s', forgive: '100s' }),
    rows: [
      [0, 'consume', 1, true, 0, 0, 10_000],
      [10_000, 'consume', 1, true, 0, 0, 30_000],
      [40_000, 'consume', 1, true, 0, 0, 60_000],
      [100_000, 'consume', 1, true, 0, 0, 60_000],
      // The block ends at 160 s, and is forgiven at 260 s.
      [259_999.999, 'consume', 1, true, 0, 0, 60_000],
      [419_999.999, 'consume', 1, true, 0, 0, 10_000],
    ],
  },
  {
    name: 'a refund in the window of a penalty lifts its block, and one of an earlier window returns nothing',
    quota: penalty({ after: 2, within: '10s', block: '1m', grow: 2, max: '1d' }),
    rows: [
      [0, 'consume', 1, true, 1, 0, 10_000],
      [1_000, 'consume', 1, true, 0, 0, 60_000],
      [2_000, 'consume', 1, false, 0, 59_000, 59_000],
      [3_000, 'refund', 1, true, 1, 0, 7_000, 0],
      // The lifted block does not make this one longer.
      [3_000, 'consume', 1, true, 0, 0, 60_000],
      [63_000, 'refund', 1, true, 2, 0, 0, 4],
      [63_000, 'charge', 5, true, 0, 0, 120_000],
      [63_000, 'refund', 3, true, 0, 0, 120_000],
      [63_000, 'refund', 1, true, 1, 0, 10_000],
    ],
  },
  {
    name: 'a block of a penalty lasts as long as before where the clock has stepped back',
    quota: penalty({ after: 2, within: '10s', block: '1m', grow: 2, max: '2m' }),
    rows: [
      [0, 'consume', 1, true, 1, 0, 10_000],
      [-5_000, 'consume', 1, true, 0, 0, 60_000],
      [-20_000, 'consume', 1, false, 0, 60_000, 60_000],
      [39_999.999, 'consume', 1, false, 0, 0.001, 0.001],
      [40_000, 'consume', 2, true, 0, 0, 120_000],
    ],
  },
  {
    name: 'a request during a block starts it again, if the penalty says so',
    quota: penalty({ after: 1, within: '1s', block: '10s', extend: true }),
    rows: [
      [0, 'consume', 1, true, 0, 0, 10_000],
      [4_000, 'peek', 1, false, 0, 6_000, 6_000],
      [4_000, 'consume', 1, false, 0, 10_000, 10_000],
      [13_999.999, 'consume', 1, false, 0, 10_000, 10_000],
      [23_999.999, 'consume', 1, true, 0, 0, 10_000],
    ],
  },
]
