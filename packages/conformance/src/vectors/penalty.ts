import { penalty } from '@spillway/core'
import { made } from '../made.ts'
import type { Vector } from './vector.ts'

/** Vectors of the penalty kernel. */
export const penaltyVectors: readonly Vector[] = /* @__PURE__ */ made(() => [
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
    name: 'a refund of a window of a penalty that is over returns nothing of the next window',
    quota: penalty({ after: 3, within: '10s', block: '1m' }),
    rows: [
      [0, 'consume', 1, true, 2, 0, 10_000],
      [10_000, 'consume', 1, true, 2, 0, 10_000],
      [10_000, 'refund', 1, true, 2, 0, 10_000, 0],
      [10_000, 'refund', 1, true, 3, 0, 0, 1],
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
])
