import { START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import {
  type SlidingWindowQuota,
  type SlidingWindowState,
  type SlidingWindowStep,
  type SlidingWindowTaken,
  slidingWindow,
} from '../src/index.ts'
import { stepFor, type Verb } from '../src/internal.ts'
import { slidingWindow as kernel } from '../src/kernels/sliding-window.ts'
import { asked } from './asked.ts'

const second = 1_000_000
const ten = slidingWindow({ limit: 10, window: '10s' })

type Row = readonly [
  at: number,
  verb: Verb,
  cost: number,
  allowed: boolean,
  state: readonly [start: number, current: number, previous: number] | undefined,
  /** The start of the window that has counted what is refunded. */
  startOf?: number,
]

/** Tells a story on one key: at second, what is done, and the window's start and counts it leaves. */
const story = (rows: readonly Row[]) => () => {
  let state: SlidingWindowState | undefined
  for (const [at, verb, cost, allowed, left, startOf] of rows) {
    const outcome = kernel(state, START + Math.round(at * second), stepOf(ten, verb, cost, startOf))
    if (verb !== 'peek') state = outcome.allowed ? outcome.taken : outcome.kept
    const reported = state && [(state.start - START) / second, state.current, state.previous]
    expect([at, verb, outcome.allowed, reported]).toEqual([at, verb, allowed, left])
  }
}

/** A step, of a refund that knows the window which has counted the units, if it does. */
function stepOf(quota: SlidingWindowQuota, verb: Verb, cost: number, startOf?: number): SlidingWindowStep {
  const stepOptions =
    startOf === undefined ? {} : { original: { start: START + Math.round(startOf * second) } as SlidingWindowTaken }
  return stepFor(quota, verb, cost, stepOptions) as SlidingWindowStep
}

describe('a sliding window', () => {
  test(
    'starts with its first request, and counts of the window before what share is left of its own',
    story([
      [3, 'peek', 1, true, undefined],
      [3, 'consume', 8, true, [3, 8, 0]],
      [12.999999, 'consume', 3, false, [3, 8, 0]],
      [13, 'consume', 3, false, [3, 8, 0]],
      [13, 'consume', 2, true, [13, 2, 8]],
      // A quarter through, three quarters of eight are six.
      [15.5, 'consume', 3, false, [13, 2, 8]],
      [15.5, 'consume', 2, true, [13, 4, 8]],
      [22.999999, 'consume', 6, true, [13, 10, 8]],
      [23, 'peek', 1, false, [13, 10, 8]],
      [23.000001, 'consume', 1, true, [23, 1, 10]],
      [43, 'consume', 10, true, [43, 10, 0]],
    ]),
  )

  test(
    'gives back to the current window first where it is not reported which, and nothing to a key that has none',
    story([
      [0, 'refund', 1, true, undefined],
      [0, 'consume', 5, true, [0, 5, 0]],
      [10, 'consume', 3, true, [10, 3, 5]],
      [11, 'refund', 4, true, [10, 0, 4]],
      [11, 'refund', 9, true, [10, 0, 0]],
      [12, 'consume', 1, true, [10, 1, 0]],
    ]),
  )

  test(
    'gives back to the window that it is reported, as long as there is one',
    story([
      [0, 'consume', 5, true, [0, 5, 0]],
      [10, 'consume', 3, true, [10, 3, 5]],
      [11, 'refund', 1, true, [10, 3, 4], 0],
      [11, 'refund', 1, true, [10, 3, 4], 0.000001],
      [11, 'refund', 1, true, [10, 2, 4], 10],
      [11, 'refund', 9, true, [10, 0, 4], 10],
      [11, 'refund', 9, true, [10, 0, 0], 0],
      [20, 'consume', 1, true, [20, 1, 0]],
      [30, 'consume', 2, true, [30, 2, 1]],
      [31, 'refund', 1, true, [30, 2, 1], 10],
      [31, 'refund', 1, true, [30, 2, 0], 20],
    ]),
  )

  test(
    'owes what is charged, and fades it as everything else',
    story([
      [0, 'charge', 25, true, [0, 25, 0]],
      [10, 'consume', 1, false, [0, 25, 0]],
      [16, 'consume', 1, false, [0, 25, 0]],
      // At 6.4 s of the next window 25 have faded to nine.
      [16.000001, 'consume', 1, true, [10, 1, 25]],
      [16.000001, 'charge', 3, true, [10, 4, 25]],
    ]),
  )

  test(
    'starts anew, with both counts in full, when the clock has stepped back before its start',
    story([
      [0, 'consume', 4, true, [0, 4, 0]],
      [10, 'consume', 5, true, [10, 5, 4]],
      [9, 'peek', 2, false, [10, 5, 4]],
      [9, 'consume', 2, false, [9, 5, 4]],
      [9, 'consume', 1, true, [9, 6, 4]],
      [-100, 'consume', 1, false, [-100, 6, 4]],
      [-95, 'consume', 2, true, [-100, 8, 4]],
      [-100.000001, 'consume', 1, false, [-100.000001, 8, 4]],
    ]),
  )

  test('counts no more than whole numbers hold, however much is charged, and denies no charge', () => {
    const minute = slidingWindow({ limit: 10, window: '1m' })
    const charge = (at: number, found?: SlidingWindowState) =>
      kernel(found, START + at * second, stepOf(minute, 'charge', 2 ** 50))
    let state: SlidingWindowState | undefined
    for (const at of [0, 0, 60, 60, 60]) {
      const { allowed, taken } = charge(at, state)
      expect(allowed).toBe(true)
      state = taken
    }
    const most = Math.floor((3 * 2 ** 50) / (60 * second))
    expect(state).toEqual({ start: START + 60 * second, current: most, previous: most })
    const consume = (at: number) => kernel(state, START + at, stepOf(minute, 'consume', 1)).allowed
    expect([consume(170 * second), consume(180 * second)]).toEqual([false, true])
  })
})

test('a changed limit finds the same counts: 60 used of 100 leave 140 of 200, and none of 20', async () => {
  const used = kernel(undefined, START, stepOf(slidingWindow({ limit: 100, window: '1m' }), 'consume', 60))
  const fits = (limit: number, units: number): boolean =>
    kernel(used.taken, START, stepOf(slidingWindow({ limit, window: '1m' }), 'peek', units)).allowed
  expect([fits(200, 140), fits(200, 141), fits(100, 40), fits(100, 41), fits(20, 1)]).toEqual([
    true,
    false,
    true,
    false,
    false,
  ])
})

describe('what a sliding window reports', () => {
  test('of its waits: to the fading of the window before, or to that of its own', async () => {
    const { take, peek } = asked(ten)
    expect(take(0, 10)).toMatchObject({ remaining: 0, replenishAfterMs: 10_000.001, resetAfterMs: 20_000 })
    expect(take(5 * second, 4)).toMatchObject({ allowed: false, retryAfterMs: 8_000.001 })
    expect(take(15 * second, 2)).toMatchObject({ remaining: 3, replenishAfterMs: 0.001, resetAfterMs: 15_000 })
    expect(take(15 * second, 9)).toMatchObject({ allowed: false, retryAfterMs: 5_000.001 })
    expect(take(15 * second, 8)).toMatchObject({ allowed: false, retryAfterMs: 4_000.001 })
    expect(await peek(29_999_999)).toMatchObject({ remaining: 10, replenishAfterMs: 0, resetAfterMs: 0.001 })
    expect(await peek(30 * second)).toMatchObject({ remaining: 10, replenishAfterMs: 0, resetAfterMs: 0 })
  })

  test('of a window emptied by a refund: nothing is missing', async () => {
    const { take, at, peek } = asked(ten)
    take(0, 3)
    await at(second).refund('alice', 3)
    expect(await peek(2 * second)).toMatchObject({ remaining: 10, replenishAfterMs: 0, resetAfterMs: 0 })
  })

  test('in ticks of ten microseconds, where the window is of ten years: nothing before a tick is over', async () => {
    const quota = slidingWindow({ limit: 10, window: '3650d' })
    const { take, peek } = asked(quota)
    expect([quota.tick, take(0, 10).allowed]).toEqual([10, true])
    expect(take(quota.window + 9)).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 0.001 })
    expect(await peek(quota.window + 10)).toMatchObject({ allowed: true, remaining: 1 })
    const half = quota.window * 1.5
    expect(take(half, 6)).toMatchObject({ allowed: false, remaining: 5, retryAfterMs: 0.01 })
    expect(take(half + 9, 6)).toMatchObject({ allowed: false, replenishAfterMs: 0.001 })
    expect(take(half + 10, 6)).toMatchObject({ allowed: true, remaining: 0 })
  })
})
