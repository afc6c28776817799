import { made } from '../made.ts'
import { bucketOf, partsOf } from './proofs.ts'
import type { Vector } from './vector.ts'

/** What each mutant of the bucket kernel in `test/proofs` gets wrong. `npm run prove` prints them. */
export const provedBucketVectors: readonly Vector[] = /* @__PURE__ */ made(() => [
  {
    name: 'unlike a kernel that denies a request that just fits',
    quota: bucketOf(1),
    rows: [
      [1_000_000.001, 'charge', 1, true, 0, 0, 0.001],
      [1_000_000, 'consume', 1, false, 0, 0.001, 0.001],
      [1_000_000, 'consume', 1, false, 0, 0.001, 0.001],
      [1_000_000.001, 'consume', 1, true, 0, 0, 0.001],
      [1_000_000.001, 'peek', 1, false, 0, 0.001, 0.001],
      [1_000_000.002, 'peek', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'unlike a kernel that allows a request a microsecond early',
    quota: bucketOf(1),
    rows: [
      [1_000_000.001, 'charge', 1, true, 0, 0, 0.001],
      [1_000_000, 'consume', 1, false, 0, 0.001, 0.001],
      [1_000_000, 'peek', 1, false, 0, 0.001, 0.001],
      [1_000_000.001, 'peek', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'unlike a kernel that keeps a state from the future',
    quota: bucketOf(1),
    rows: [
      [1_000_000.001, 'charge', 1, true, 0, 0, 0.001],
      [1_000_000, 'consume', 1, false, 0, 0.001, 0.001],
      [1_000_000, 'peek', 1, false, 0, 0.001, 0.001],
      [1_000_000.001, 'peek', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'unlike a kernel that refills a bucket when the clock steps back',
    quota: bucketOf(1),
    rows: [
      [1_000_000.001, 'charge', 1, true, 0, 0, 0.001],
      [1_000_000.001, 'consume', 1, false, 0, 0.001, 0.001],
      [1_000_000, 'consume', 1, false, 0, 0.001, 0.001],
      [1_000_000.001, 'consume', 1, true, 0, 0, 0.001],
      [1_000_000.001, 'peek', 1, false, 0, 0.001, 0.001],
      [1_000_000.002, 'peek', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'unlike a kernel that denies for longer than a bucket takes to refill',
    quota: bucketOf(1),
    rows: [
      [1_000_000.003, 'charge', 1, true, 0, 0, 0.001],
      [1_000_000.001, 'consume', 1, false, 0, 0.001, 0.001],
      [1_000_000, 'consume', 1, false, 0, 0.001, 0.001],
      [1_000_000.001, 'consume', 1, true, 0, 0, 0.001],
      [1_000_000.001, 'peek', 1, false, 0, 0.001, 0.001],
      [1_000_000.002, 'peek', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'unlike a kernel that forgets the units in use',
    quota: bucketOf(1),
    rows: [
      [1_000_000.001, 'charge', 1, true, 0, 0, 0.001],
      [1_000_000, 'consume', 1, false, 0, 0.001, 0.001],
      [1_000_000.001, 'consume', 1, true, 0, 0, 0.001],
      [1_000_000.001, 'peek', 1, false, 0, 0.001, 0.001],
      [1_000_000.002, 'peek', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'unlike a kernel that consumes a tick less',
    quota: bucketOf(1),
    rows: [
      [999_999.999, 'charge', 1, true, 0, 0, 0.001],
      [1_000_000.001, 'consume', 1, true, 0, 0, 0.001],
      [1_000_000.001, 'peek', 1, false, 0, 0.001, 0.001],
      [1_000_000.002, 'peek', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'unlike a kernel that returns units that have refilled',
    quota: bucketOf(1),
    rows: [
      [1_000_012.699, 'charge', 1, true, 0, 0, 0.001],
      [1_000_012.7, 'consume', 1, true, 0, 0, 0.001],
      [1_000_012.701, 'refund', 1, true, 1, 0, 0, 1],
      [1_000_012.701, 'peek', 1, true, 1, 0, 0],
      [1_000_012.702, 'peek', 1, true, 1, 0, 0],
    ],
  },
  {
    name: 'unlike a kernel that returns units on which a later take relies',
    quota: bucketOf(4, 3),
    rows: [
      [1_000_029.507, 'charge', 1, true, 3, 0, 0.001],
      [1_000_029.508, 'consume', 3, true, 1, 0, 0.003],
      [1_000_029.509, 'consume', 2, true, 0, 0, 0.004],
      [1_000_029.509, 'refund', 3, true, 1, 0, 0.003, 1],
      [1_000_029.509, 'peek', 1, true, 1, 0, 0.003],
      [1_000_029.51, 'peek', 1, true, 2, 0, 0.002],
    ],
  },
  {
    name: 'unlike a kernel that returns more than was taken',
    quota: bucketOf(4, 3),
    rows: [
      [1_000_001.373, 'charge', 1, true, 3, 0, 0.001],
      [1_000_001.372, 'consume', 1, true, 1, 0, 0.003],
      [1_000_001.372, 'consume', 1, true, 0, 0, 0.004],
      [1_000_001.372, 'refund', 1, true, 1, 0, 0.003, 1],
      [1_000_001.372, 'peek', 1, true, 1, 0, 0.003],
      [1_000_001.373, 'peek', 1, true, 2, 0, 0.002],
    ],
  },
  {
    name: 'unlike a kernel that takes a debt for a clock that has stepped back',
    quota: bucketOf(1),
    rows: [
      [1_000_000.001, 'charge', 1, true, 0, 0, 0.001],
      [1_000_000, 'charge', 2, true, 0, 0, 0.003],
      [1_000_000, 'consume', 1, false, 0, 0.003, 0.003],
      [1_000_000, 'peek', 1, false, 0, 0.003, 0.003],
      [1_000_000.001, 'peek', 1, false, 0, 0.002, 0.002],
    ],
  },
  {
    name: 'unlike a kernel that drops the parts of a microsecond',
    quota: partsOf(2, 2),
    rows: [
      [1_000_000, 'charge', 1, true, 1, 0, 0.001],
      [1_000_000, 'consume', 1, true, 0, 0, 0.001],
      [1_000_000, 'peek', 1, false, 0, 0.001, 0.001],
      [1_000_000.001, 'peek', 1, true, 2, 0, 0],
    ],
  },
  {
    name: 'unlike a kernel that compares whole microseconds only',
    quota: partsOf(2, 5),
    rows: [
      [1_000_000, 'charge', 2, true, 3, 0, 0.001],
      [1_000_000, 'consume', 4, false, 3, 0.001, 0.001],
      [1_000_000, 'peek', 1, true, 3, 0, 0.001],
      [1_000_000.001, 'peek', 1, true, 5, 0, 0],
    ],
  },
])
