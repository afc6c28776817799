import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  leakyBucket,
  type Quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from '../src/index.ts'
import { asked, crowd, second } from './asked.ts'

/** A crowd: its moment in microseconds after the start, what each of it costs, and how many of it pass. */
type Crowd = readonly [at: number, cost: number, passes: number]

interface Bound {
  readonly quota: Quota
  /** The most that passes from one moment through another, both in microseconds after the start. */
  readonly most: (from: number, through: number) => number
  /** What goes before, and a history that reaches the bound. */
  readonly before?: readonly Crowd[]
  readonly tight: readonly Crowd[]
}

const tenSeconds = 10 * second
const lines = (from: number, through: number): number =>
  Math.floor(through / tenSeconds) - Math.floor(from / tenSeconds)

const bounds: Readonly<Record<string, Bound>> = {
  'a token bucket: the burst, and the rate times the time': {
    quota: tokenBucket({ limit: 2, per: '1s', burst: 5 }),
    most: (from, through) => 5 + (2 * (through - from)) / second,
    tight: [
      [0, 1, 5],
      [2_500_000, 1, 5],
    ],
  },
  'pacing: one, and one for each interval': {
    quota: tokenBucket({ limit: 2, per: '1s', burst: 1 }),
    most: (from, through) => 1 + (2 * (through - from)) / second,
    tight: [
      [0, 1, 1],
      [500_000, 1, 1],
    ],
  },
  'a token bucket with an overdraft: what may be owed besides': {
    quota: tokenBucket({ limit: 2, per: '1s', burst: 5, overdraft: 3 }),
    most: (from, through) => 5 + 3 + (2 * (through - from)) / second,
    tight: [
      [0, 8, 1],
      [1_500_000, 3, 1],
    ],
  },
  'interval refill: the burst, and an amount for each line of the grid that is crossed': {
    quota: tokenBucket({ limit: 3, per: '10s', refill: '10s', burst: 7 }),
    most: (from, through) => 7 + 3 * lines(from, through),
    tight: [
      [tenSeconds - 1, 1, 7],
      [tenSeconds, 1, 3],
      [2 * tenSeconds, 1, 3],
    ],
  },
  'a fixed window: the limit in each, hence twice the limit around an edge': {
    quota: fixedWindow({ limit: 6, window: '10s' }),
    most: (from, through) => 6 * (lines(from, through) + 1),
    tight: [
      [tenSeconds - 1, 1, 6],
      [tenSeconds, 1, 6],
    ],
  },
  'a fixed window from the first request: the limit in each that is touched, less the unit that has started the first':
    {
      quota: fixedWindow({ limit: 1, window: '10s', align: 'first' }),
      most: (from, through) => Math.floor((through - from) / tenSeconds) + 2 - 1,
      tight: [
        [0, 1, 1],
        [tenSeconds, 1, 1],
      ],
    },
  'a sliding window: the limit in each that is touched, hence twice the limit within one length': {
    quota: slidingWindow({ limit: 6, window: '10s' }),
    most: (from, through) => 6 * (Math.floor((through - from) / tenSeconds) + 2),
    // One unit starts the windows, and fades to less than a whole one as soon as the next has begun.
    before: [[0, 6, 1]],
    tight: [
      [tenSeconds * 1.9, 1, 6],
      [tenSeconds * 2.84, 1, 6],
    ],
  },
  'a key that warms up: one request, and the rate when warm times the time': {
    quota: warmingUp({ limit: 2, per: '1s', warmUpPeriod: '8s', burst: 7 }),
    most: (from, through) => 7 + (2 * (through - from)) / second,
    // 16 units take 12 s: 8 s for the first 8, and 4 s for the others.
    before: [
      [0, 7, 1],
      [7_750_000, 7, 1],
      [11_500_000, 2, 1],
    ],
    tight: [
      [12_500_000, 7, 1],
      [16_000_000, 7, 1],
    ],
  },
  'a sliding log: the limit in any window': {
    quota: slidingLog({ limit: 6, window: '10s' }),
    most: (from, through) => 6 * (Math.floor((through - from) / tenSeconds) + 1),
    before: [[0, 2, 3]],
    tight: [
      [tenSeconds, 1, 6],
      [2 * tenSeconds - 1, 1, 0],
    ],
  },
}

const calls = fc.array(
  fc.record({
    after: fc.oneof(fc.integer({ min: 0, max: 3 * second }), fc.constantFrom(0, 1, 999_999, second, tenSeconds)),
    cost: fc.integer({ min: 1, max: 7 }),
  }),
  { minLength: 1, maxLength: 40 },
)

describe('the most that passes in any span of time, of', () => {
  test.each(Object.entries(bounds))('%s', (_, { quota, most }) => {
    fc.assert(
      fc.property(calls, (history) => {
        const { take } = asked(quota)
        const admitted: { at: number; cost: number }[] = []
        let now = 0
        for (const { after, cost } of history) {
          now += after
          if (take(now, cost).allowed) admitted.push({ at: now, cost })
        }
        for (const [i, first] of admitted.entries()) {
          let units = 0
          for (const { at, cost } of admitted.slice(i)) {
            units += cost
            expect(units).toBeLessThanOrEqual(most(first.at, at))
          }
        }
      }),
    )
  })

  test.each(Object.entries(bounds))('%s: so much does pass', (_, { quota, most, before = [], tight }) => {
    const subject = asked(quota)
    const passed = ([at, cost]: Crowd): Crowd => [at, cost, crowd(subject, at, cost)]
    expect(before.map(passed)).toEqual(before)
    expect(tight.map(passed)).toEqual(tight)
    const units = tight.reduce((sum, [, cost, passes]) => sum + cost * passes, 0)
    expect(units).toBe(most(tight[0]?.[0] as number, tight.at(-1)?.[0] as number))
  })
})

describe('a leaky bucket', () => {
  const quota = leakyBucket({ limit: 4, per: '1s', queue: 5 })

  test('lets nothing depart sooner after the last than its units take, nor in another order', () => {
    fc.assert(
      fc.property(calls, (history) => {
        const { take } = asked(quota)
        let now = 0
        let last = Number.NEGATIVE_INFINITY
        for (const { after, cost } of history) {
          now += after
          const { allowed, delayMs } = take(now, cost)
          if (!allowed) continue
          const departs = now + Math.round(delayMs * 1_000)
          expect(departs - last).toBeGreaterThanOrEqual(cost * 250_000)
          last = departs
        }
      }),
    )
  })

  test('takes in at most its queue and one, and what departs meanwhile', () => {
    const subject = asked(quota)
    expect([0, 0, 250_000, 1_000_000].map((at) => crowd(subject, at))).toEqual([6, 0, 1, 3])
  })
})
