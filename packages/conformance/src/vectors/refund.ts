import { leakyBucket, perSecond } from '@spillway/core'
import { made } from '../made.ts'
import type { Vector } from './vector.ts'

/** Vectors of what a refund of a bucket returns. */
export const refundVectors: readonly Vector[] = /* @__PURE__ */ made(() => [
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
])
