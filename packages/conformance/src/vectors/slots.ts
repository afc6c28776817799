import { inFlight } from '@spillway/core/in-flight'
import { made } from '../made.ts'
import type { Vector } from './vector.ts'

/** Vectors of the slots kernel. A refund or charge of a row names the slots that it acquired. */
export const slotsVectors: readonly Vector[] = /* @__PURE__ */ made(() => [
  {
    name: 'slots are as many as the limit, and are released by their numbers, once',
    quota: inFlight(3, { ttl: '10s' }),
    rows: [
      [0, 'consume', 1, true, 2, 0, 0],
      [0, 'consume', 2, true, 0, 0, 0],
      [1, 'consume', 1, false, 0, 0, 0],
      [1, 'peek', 1, false, 0, 0, 0],
      [2, 'refund', 1, true, 1, 0, 0, 0],
      [2, 'refund', 1, true, 1, 0, 0, 0],
      [2, 'consume', 2, false, 1, 0, 0],
      [2, 'consume', 1, true, 0, 0, 0],
      [3, 'refund', 2, true, 2, 0, 0, 1],
      [3, 'consume', 4, false, 2, Infinity, 0],
      [3, 'refund', 1, true, 3, 0, 0, 7],
    ],
  },
  {
    name: 'a slot that is acquired in the microsecond of a release has another number',
    quota: inFlight(1, { ttl: '10s' }),
    rows: [
      [0, 'consume', 1, true, 0, 0, 0],
      [0, 'refund', 1, true, 1, 0, 0, 0],
      [0, 'consume', 1, true, 0, 0, 0],
      // Late: the slot is another holder's.
      [0, 'refund', 1, true, 0, 0, 0, 0],
      [5_000, 'charge', 1, true, 0, 0, 0, 0],
      [9_999.999, 'consume', 1, false, 0, 0, 0],
      [10_000, 'consume', 1, true, 0, 0, 0],
    ],
  },
  {
    name: 'a slot expires when its time to live is over, to the microsecond, and its late release frees no other',
    quota: inFlight(1, { ttl: '10s' }),
    rows: [
      [0, 'consume', 1, true, 0, 0, 0],
      [9_999.999, 'peek', 1, false, 0, 0, 0],
      [9_999.999, 'consume', 1, false, 0, 0, 0],
      [10_000, 'peek', 1, true, 1, 0, 0],
      [10_000, 'consume', 1, true, 0, 0, 0],
      [10_000, 'refund', 1, true, 0, 0, 0, 0],
      [19_999.999, 'consume', 1, false, 0, 0, 0],
      [20_000, 'consume', 1, true, 0, 0, 0],
    ],
  },
  {
    name: 'a release frees neither older slots nor newer ones, and a slot counts in its last microsecond',
    quota: inFlight(3, { ttl: '10s' }),
    rows: [
      [0, 'consume', 1, true, 2, 0, 0],
      [1, 'consume', 1, true, 1, 0, 0],
      [2, 'consume', 1, true, 0, 0, 0],
      [3, 'refund', 1, true, 1, 0, 0, 1],
      [9_999.999, 'consume', 1, true, 0, 0, 0],
      [9_999.999, 'consume', 1, false, 0, 0, 0],
      [10_000, 'peek', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'a slot is renewed, after it has expired too, until another acquisition clears it away',
    quota: inFlight(2, { ttl: '10s' }),
    rows: [
      [0, 'consume', 1, true, 1, 0, 0],
      [9_000, 'charge', 1, true, 1, 0, 0, 0],
      [18_999.999, 'consume', 2, false, 1, 0, 0],
      [19_000, 'peek', 2, true, 2, 0, 0],
      // No request has needed the slot since it expired.
      [20_000, 'charge', 1, true, 1, 0, 0, 0],
      [29_999.999, 'consume', 2, false, 1, 0, 0],
      [30_000, 'consume', 2, true, 0, 0, 0],
      [30_000, 'charge', 1, true, 0, 0, 0, 0],
      [30_000, 'refund', 2, true, 2, 0, 0, 6],
    ],
  },
  {
    name: 'a denied request clears no expired slot away',
    quota: inFlight(2, { ttl: '10s' }),
    rows: [
      [0, 'consume', 1, true, 1, 0, 0],
      [5_000, 'consume', 1, true, 0, 0, 0],
      [10_000, 'consume', 2, false, 1, 0, 0],
      [10_000, 'charge', 1, true, 0, 0, 0, 0],
      [14_999.999, 'consume', 1, false, 0, 0, 0],
      [15_000, 'consume', 1, true, 0, 0, 0],
      // Its slot is the last row's now.
      [15_000, 'charge', 1, true, 0, 0, 0, 1],
      [20_000, 'peek', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'the slots of one cost are acquired, renewed and released together',
    quota: inFlight(5, { ttl: '10s' }),
    rows: [
      [0, 'consume', 3, true, 2, 0, 0],
      [0, 'consume', 3, false, 2, 0, 0],
      [0, 'consume', 2, true, 0, 0, 0],
      [4_000, 'charge', 3, true, 0, 0, 0, 0],
      [9_999.999, 'consume', 1, false, 0, 0, 0],
      [10_000, 'consume', 2, true, 0, 0, 0],
      [13_999.999, 'peek', 1, false, 0, 0, 0],
      [13_999.999, 'refund', 3, true, 3, 0, 0, 0],
      [13_999.999, 'refund', 1, true, 4, 0, 0, 5],
      [20_000, 'peek', 5, true, 5, 0, 0],
    ],
  },
  {
    name: 'a charge of no slots acquires what is free, and such a refund releases the latest',
    quota: inFlight(3, { ttl: '10s' }),
    rows: [
      [0, 'charge', 1, true, 2, 0, 0],
      [4_000, 'charge', 5, true, 0, 0, 0],
      [5_000, 'charge', 1, true, 0, 0, 0],
      [5_000, 'consume', 1, false, 0, 0, 0],
      [5_000, 'refund', 2, true, 2, 0, 0],
      // The first one is left.
      [9_999.999, 'peek', 3, false, 2, 0, 0],
      [10_000, 'peek', 3, true, 3, 0, 0],
      [10_000, 'consume', 3, true, 0, 0, 0],
      [10_000, 'refund', 9, true, 3, 0, 0],
      [10_000, 'refund', 1, true, 3, 0, 0],
    ],
  },
  {
    name: 'a slot is held for its time to live at most where the clock has stepped back, and numbers rise',
    quota: inFlight(2, { ttl: '10s' }),
    rows: [
      [0, 'consume', 1, true, 1, 0, 0],
      [-5_000, 'consume', 1, true, 0, 0, 0],
      [4_999.999, 'consume', 1, false, 0, 0, 0],
      [5_000, 'consume', 2, true, 0, 0, 0],
      [5_000, 'refund', 1, true, 0, 0, 0, 0],
      [5_000, 'refund', 1, true, 0, 0, 0, 1],
      [5_000, 'refund', 2, true, 2, 0, 0, 3],
    ],
  },
  {
    name: 'a denial writes that the clock has stepped back, and a peek does not',
    quota: inFlight(2, { ttl: '10s' }),
    rows: [
      [0, 'consume', 2, true, 0, 0, 0],
      [-5_000, 'peek', 1, false, 0, 0, 0],
      [9_999.999, 'peek', 1, false, 0, 0, 0],
      [-5_000, 'consume', 1, false, 0, 0, 0],
      [4_999.999, 'consume', 1, false, 0, 0, 0],
      [5_000, 'consume', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'a quota of no slots denies all, and a charge acquires none',
    quota: inFlight(0),
    rows: [
      [0, 'peek', 1, false, 0, Infinity, 0],
      [0, 'consume', 1, false, 0, Infinity, 0],
      [0, 'charge', 1, true, 0, 0, 0],
      [0, 'refund', 1, true, 0, 0, 0],
    ],
  },
])
