import { leakyBucket, perMinute, perSecond, tokenBucket } from '@spillway/core'
import { made } from '../made.ts'
import type { Vector } from './vector.ts'

/** Vectors of the bucket kernel. */
export const bucketVectors: readonly Vector[] = /* @__PURE__ */ made(() => [
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
    // Longer than the time since 1970, which a key without a state must not be taken to have been full for.
    name: 'a new key starts with its initial units, however long a full bucket is kept',
    quota: tokenBucket({ limit: 10, per: '10s', initial: 3, keepFull: '30000d' }),
    rows: [
      [0, 'peek', 4, false, 3, 1_000, 7_000],
      [500, 'consume', 3, true, 0, 0, 10_000],
      [10_500, 'peek', 10, true, 10, 0, 0],
      [1_000_000, 'consume', 10, true, 0, 0, 10_000],
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
    // The unit that is missing at first takes 142,857 1/7 µs, and the six others the rest of a second.
    name: 'initial units take parts of a microsecond, too',
    quota: tokenBucket({ limit: 7, per: '1s', initial: 6 }),
    rows: [
      [0, 'peek', 7, false, 6, 142.858, 142.858],
      [0, 'consume', 6, true, 0, 0, 1_000],
      [0, 'consume', 1, false, 0, 142.858, 1_000],
      [142.857, 'consume', 1, false, 0, 0.001, 857.143],
      // Full again at 1,142,857 1/7 µs.
      [142.858, 'consume', 1, true, 0, 0, 1_000],
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
])
