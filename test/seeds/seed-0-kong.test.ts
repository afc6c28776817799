import { leakyBucket, perSecond, type Quota } from '@spillway/core'
import { rateLimiter } from '@spillway/memory'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { crowd, onAMachine, ours, polled } from './ours.ts'
import { MinimumGap, RepairedGap } from './published/kong.ts'

const pacing = (qps: number): Quota => perSecond(qps, { burst: 1 })

/** The article's limiter as it is used. */
function published(qps: number, Limiter: typeof MinimumGap = MinimumGap): MinimumGap {
  const limiter = new Limiter()
  limiter.setQPS(qps)
  return limiter
}

describe('queries per second', () => {
  test.each([
    [1, 61, 61],
    [2, 31, 121],
    [10, 7, 601],
  ])('K1: %d a second, asked every millisecond of a minute: theirs admits %d, ours %d', (qps, theirs, right) => {
    const gap = published(qps)
    expect(polled(1, 60_000, (ms) => gap.allowThisRequest(ms))).toBe(theirs)
    expect(polled(1, 60_000, ours(pacing(qps)).passes)).toBe(right)
  })

  test('K1: repaired in whole milliseconds, 1001 a second are unlimited; ours are 1001 in the second', () => {
    const gap = published(1001, RepairedGap)
    expect(polled(0.1, 1_000, (ms) => gap.allowThisRequest(Math.floor(ms)))).toBe(10_001)
    expect(polled(0.001, 1_000, ours(pacing(1001)).passes)).toBe(1_001)
  })

  test.each([1, 2, 10, 999, 1_001, 1_000_000])(
    'K1: %d a second are never more, and no less by one in a hundred',
    (qps) => {
      const { limiter, clock } = ours(pacing(qps))
      // As often as may be, and once between: a tenth of a second of the fast ones, ten seconds of the slow ones.
      const seconds = qps > 1_000 ? 0.1 : 10
      const half = Math.ceil(1e6 / qps) / 2
      let admitted = 0
      for (let passed = 0; passed <= seconds * 1e6; passed += half * 2) {
        if (limiter.consumeSync('alice').allowed) admitted++
        clock.advanceMicros(Math.floor(half))
        if (limiter.consumeSync('alice').allowed) admitted++
        clock.advanceMicros(Math.ceil(half))
      }
      expect(admitted).toBeLessThanOrEqual(qps * seconds + 1)
      expect(admitted).toBeGreaterThan(qps * seconds * 0.99)
    },
  )

  test('K2: without a rate theirs allows everything; ours nothing, or is not built', () => {
    const gap = new MinimumGap()
    expect(crowd(1_000, () => gap.allowThisRequest(0))).toBe(1_000)
    expect(crowd(1_000, () => ours(pacing(0)).passes(0))).toBe(0)
    expect(() => rateLimiter({} as never)).toThrow('quota must be built by')
  })

  test('K3: the clock is set back an hour: theirs denies for that hour, ours is as before', () => {
    const gap = published(1)
    gap.allowThisRequest(0)
    expect(polled(1_000, -1_000, (ms) => gap.allowThisRequest(ms), -3_600_000)).toBe(0)
    const { limiter, set, pass } = onAMachine(pacing(1))
    limiter.consumeSync('alice')
    expect(set(-3_600_000).consumeSync('alice')).toMatchObject({ allowed: false, retryAfterMs: 1_000 })
    expect(pass(1_000).consumeSync('alice').allowed).toBe(true)
  })

  test('K3: on a bare clock ours denies for no longer than the bucket takes to fill', () => {
    const { passes } = ours(pacing(1))
    expect([0, -3_600_000, -3_599_001, -3_599_000].map((ms) => passes(ms))).toEqual([true, false, false, true])
  })

  test('K4: theirs has no burst: 99 ms after the last, ten idle seconds earn nothing; ours has the burst it is given', () => {
    const gap = published(10, RepairedGap)
    const asked = [0, 10_000, 10_099]
    expect(asked.map((ms) => gap.allowThisRequest(ms))).toEqual([true, true, false])
    const bursty = ours(perSecond(10))
    expect(asked.map((ms) => bursty.passes(ms))).toEqual([true, true, true])
    const paced = ours(pacing(10))
    expect(asked.map((ms) => paced.passes(ms))).toEqual([true, true, false])
  })

  test('K4: theirs takes the moment −1 for none yet; ours knows none from a moment', () => {
    const gap = published(10)
    expect([gap.allowThisRequest(-1), gap.allowThisRequest(-1)]).toEqual([true, true])
    const { passes } = ours(pacing(10))
    expect([passes(-1), passes(-1)]).toEqual([true, false])
  })
})

describe('the leaky bucket', () => {
  beforeEach(() => vi.useFakeTimers({ now: 0 }))
  afterEach(() => vi.useRealTimers())

  test('is a queue: first in, first out, one at each interval', async () => {
    const { limiter } = ours(leakyBucket({ limit: 1, per: '1s', queue: 3 }))
    const served: string[] = []
    const asked = ['a', 'b', 'c', 'd'].map(async (name) => {
      await limiter.wait('api')
      served.push(`${name}@${Date.now()}`)
    })
    await vi.runAllTimersAsync()
    await Promise.all(asked)
    expect(served).toEqual(['a@0', 'b@1000', 'c@2000', 'd@3000'])
  })

  test('discards what does not fit into the queue', async () => {
    const { limiter } = ours(leakyBucket({ limit: 1, per: '1s', queue: 3 }))
    const asked = await Promise.all(Array.from({ length: 5 }, () => limiter.consume('api')))
    const turns = asked.map(({ allowed, delayMs }) => (allowed ? delayMs : 'discarded'))
    expect(turns).toEqual([0, 1_000, 2_000, 3_000, 'discarded'])
  })

  test('full of old requests lets a recent one know at once that it would wait too long', async () => {
    const { limiter } = ours(leakyBucket({ limit: 1, per: '1s', queue: 60 }))
    await Promise.all(Array.from({ length: 50 }, () => limiter.consume('api')))
    await expect(limiter.wait('api', { maxWait: '10s' })).rejects.toMatchObject({ code: 'ERR_SPILLWAY_RATE_LIMITED' })
    expect(vi.getTimerCount()).toBe(0)
  })
})
