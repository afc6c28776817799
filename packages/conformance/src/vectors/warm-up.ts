import { warmingUp } from '@spillway/core'
import { made } from '../made.ts'
import type { Vector } from './vector.ts'

/** Vectors of the warm-up kernel. */
export const warmUpVectors: readonly Vector[] = /* @__PURE__ */ made(() => [
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
    name: 'a key that warms up allows a burst at its turn, no more than a burst ever, and no refund after its turn',
    quota: warmingUp({ limit: 1, per: '1s', warmUpPeriod: '4s', burst: 3 }),
    rows: [
      [0, 'consume', 4, false, 1, Infinity, 0],
      [0, 'consume', 1, true, 0, 0, 2_500],
      [2_500, 'refund', 1, true, 1, 0, 0],
      // Still 3 s cold.
      [2_500, 'consume', 1, true, 0, 0, 1_500],
    ],
  },
  {
    name: 'a key that warms up multiplies exactly beyond 2^53',
    quota: warmingUp({ limit: 1, per: 37_102.76, warmUpPeriod: 7_199_999.998 }),
    rows: [
      // 37,102,760 × (7,199,999,998 − 37,102,760) / 3,599,999,999 µs more, which is 73,823,127 and a bit.
      [0, 'consume', 1, true, 0, 0, 110_925.888],
      [110_925.887, 'consume', 1, false, 0, 0.001, 0.001],
    ],
  },
])
