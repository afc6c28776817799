import { START } from '@spillway/conformance'
import { fixedWindow, perMinute, type State, slidingLog, slidingWindow } from '@spillway/core'
import { type Outcome, runKernel, stepFor } from '@spillway/core/internal'
import { describe, expect, test } from 'vitest'
import { crowd, ours, polled } from './ours.ts'
import { GetThenSet, WeightedWindows } from './published/kong.ts'

describe('windows of a minute, 100 in each', () => {
  const minute = { limit: 100, window: '1m' } as const
  const windows = [fixedWindow(minute), slidingWindow(minute), slidingLog(minute)]

  /** How many pass of 200 at one moment, for each of our windows; one request at 0 has started them all. */
  const story = (moments: readonly number[]): readonly number[][] =>
    windows.map((quota) => {
      const { passes } = ours(quota)
      passes(0)
      return moments.map((ms) => crowd(200, () => passes(ms)))
    })

  test('K5: the sliding window of the article admits 199 within 59.9 s; so does ours, and says so; the log never does', () => {
    const theirs = new WeightedWindows(100, 60_000)
    expect([59_900, 119_800].map((ms) => crowd(200, () => theirs.allow(ms)))).toEqual([100, 99])
    const [, window, log] = story([59_900, 119_800])
    expect(window).toEqual([99, 100])
    expect(log).toEqual([99, 1])
  })

  test('K5: 150 within a minute, where weights are no excuse: the log admits 100', () => {
    const theirs = new WeightedWindows(100, 60_000)
    expect([59_900, 90_000].map((ms) => crowd(200, () => theirs.allow(ms)))).toEqual([100, 50])
    expect(story([59_900, 90_000])).toEqual([
      [99, 100],
      [99, 50],
      [99, 1],
    ])
  })

  test('the fixed window is the one with the boundary: 199 within 0.1 s', () => {
    expect(story([59_900, 60_000])).toEqual([
      [99, 100],
      [99, 0],
      [99, 1],
    ])
  })

  test('a quarter through a window, the previous one counts three quarters', () => {
    const { passes } = ours(slidingWindow(minute))
    passes(0, 80)
    expect(crowd(200, () => passes(75_000))).toBe(40)
  })

  test('a log of denials would grow without end; ours holds what passed', () => {
    const step = stepFor(slidingLog({ limit: 3, window: '1m' }), 'consume', 1)
    let log: State | undefined
    for (let i = 0; i < 10_000; i++) log = taken(runKernel(log, START + i * 1_000, step))
    expect(log).toEqual([START, 1, START + 1_000, 1, START + 2_000, 1])
  })
})

const taken = (outcome: Outcome): State | undefined => (outcome.allowed ? outcome.taken : outcome.kept)

describe('set-then-get', () => {
  test('get-then-set lets a hundred callers read the same count; ours is one step', async () => {
    const theirs = new GetThenSet()
    const raced = await Promise.all(Array.from({ length: 100 }, () => theirs.allow(10)))
    expect(raced.filter(Boolean)).toHaveLength(100)
    const { limiter } = ours(perMinute(10))
    const asked = await Promise.all(Array.from({ length: 100 }, () => limiter.consume('alice')))
    expect(asked.filter(({ allowed }) => allowed)).toHaveLength(10)
  })

  test('K6: counting first never readmits a client that keeps trying; ours counts what passes', () => {
    const theirs = new WeightedWindows(10, 60_000, { setThenGet: true })
    expect(polled(1_000, 600_000, (ms) => theirs.allow(ms))).toBe(10)
    // Ten in the first minute and in each of the nine after it, and none yet in the one that begins.
    expect(polled(1_000, 600_000, ours(slidingWindow({ limit: 10, window: '1m' })).passes)).toBe(100)
    expect(polled(1_000, 600_000, ours(perMinute(10)).passes)).toBe(110)
  })
})
