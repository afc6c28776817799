import { fakeClock } from '@spillway/conformance'
import { type BucketQuota, type Duration, tokenBucket } from '@spillway/core'
import { memoryStore, rateLimiter } from '@spillway/memory'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { crowd, onAMachine, ours } from './ours.ts'
import { refilledIn64Bits, SmyteBucket, SmyteService } from './published/smyte.ts'

/** A bucket's properties, in the article's words. */
const bucket = (maxAmount: number, refillTime: Duration, refillAmount: number): BucketQuota =>
  tokenBucket({ limit: refillAmount, per: refillTime, refill: refillTime, burst: maxAmount })

describe('get and reduce', () => {
  test('are peek and consume: the amount, and the amount less the tokens', async () => {
    const { at } = ours(bucket(100, '1m', 10))
    const reduce = (ms: number, tokens: number) => at(ms).consumeSync('alice', tokens)
    const get = async (ms: number) => (await at(ms).peek('alice')).remaining
    expect(await get(0)).toBe(100)
    expect(reduce(0, 65)).toMatchObject({ allowed: true, remaining: 35 })
    expect(await get(59_999)).toBe(35)
    expect(await get(60_000)).toBe(45)
    expect(reduce(60_000, 46)).toMatchObject({ allowed: false, remaining: 45, retryAfterMs: 60_000 })
    expect(reduce(60_000, 45)).toMatchObject({ allowed: true, remaining: 0, resetAfterMs: 600_000 })
    expect(await get(10 * 60_000)).toBe(90)
    expect(await get(99 * 60_000)).toBe(100)
  })
})

describe('S1: the last token', () => {
  test('cannot be had there: of ten one by one nine, of one none, of ten at once none', () => {
    const theirs = (max: number) => new SmyteBucket(max, 60, max, 0)
    const ten = theirs(10)
    expect(crowd(20, () => ten.reduce(1, 0))).toBe(9)
    const one = theirs(1)
    expect(crowd(20, () => one.reduce(1, 0))).toBe(0)
    expect(theirs(10).reduce(10, 0)).toBe(false)
  })

  test('is as good as any here: ten, one, ten', () => {
    const ten = ours(bucket(10, '1m', 10))
    expect(crowd(20, () => ten.passes(0))).toBe(10)
    const one = ours(bucket(1, '1m', 1))
    expect(crowd(20, () => one.passes(0))).toBe(1)
    expect(ours(bucket(10, '1m', 10)).passes(0, 10)).toBe(true)
  })
})

describe('S2: a refill on a fixed grid', () => {
  test('fills a bucket just emptied: all but two of 200 there, 200 here, within one second', () => {
    const theirs = new SmyteBucket(100, 60, 100, 0)
    expect([theirs.reduce(99, 119), theirs.reduce(99, 120)]).toEqual([true, true])
    const { passes } = ours(bucket(100, '1m', 100))
    expect([passes(119_000, 100), passes(120_000, 100), passes(120_000, 1)]).toEqual([true, true, false])
  })

  // This is what refilling at intervals means: the bound is in the lines of the grid, not in the time between.
  test('admits maxAmount, and refillAmount for each line crossed, at the most', () => {
    const asks = fc.array(fc.record({ after: fc.integer({ min: 0, max: 30 }), tokens: fc.integer({ min: 1, max: 9 }) }))
    fc.assert(
      fc.property(asks, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }), (history, max, refill) => {
        const { passes } = ours(bucket(max, '20s', refill))
        let now = 0
        const admitted: { line: number; tokens: number }[] = []
        for (const { after, tokens } of history) {
          now += after
          if (passes(now * 1_000, tokens)) admitted.push({ line: Math.floor(now / 20), tokens })
        }
        for (const [i, first] of admitted.entries()) {
          const last = admitted.at(-1) as typeof first
          const units = admitted.slice(i).reduce((sum, { tokens }) => sum + tokens, 0)
          expect(units).toBeLessThanOrEqual(max + refill * (last.line - first.line))
        }
      }),
    )
  })

  test('reaches that bound', () => {
    const { passes } = ours(bucket(100, '1m', 50))
    expect([0, 60_000, 120_000].map((ms) => crowd(500, () => passes(ms + 59_999)))).toEqual([100, 50, 50])
    expect(crowd(500, () => passes(180_000))).toBe(50)
  })
})

describe('S3: the clock is set back', () => {
  test('by a second, theirs takes a refill away: five tokens are minus five, and none passes', () => {
    const theirs = new SmyteBucket(100, 60, 10, 60)
    expect(theirs.reduce(95, 60)).toBe(true)
    expect(theirs.reduce(1, 59)).toBe(false)
    expect([theirs.value, theirs.lastUpdate]).toEqual([-5, 0])
  })

  test('by ten seconds, ours goes on from where it was: five are five', async () => {
    const { limiter, set, pass } = onAMachine(bucket(100, '1m', 10))
    pass(60_000).consumeSync('alice', 95)
    const before = await limiter.peek('alice')
    expect(before.remaining).toBe(5)
    expect(await set(50_000).peek('alice')).toEqual(before)
    expect(limiter.consumeSync('alice', 6)).toMatchObject({ allowed: false, remaining: 5 })
    expect(await set(60_000).peek('alice')).toEqual(before)
  })

  test('and a store whose clock did step answers as it did once the clock is right', async () => {
    const { at } = ours(bucket(100, '1m', 10))
    at(60_000).consumeSync('alice', 50)
    const before = await at(60_000).peek('alice')
    expect(at(59_000).consumeSync('alice', 60).allowed).toBe(false)
    expect(await at(60_000).peek('alice')).toEqual(before)
  })
})

describe('S4: ten idle years of the finest refill', () => {
  const tenYears = 315_576_000

  test('overflow there: at a refill of a hundred a nanosecond the bucket is left with less than nothing', () => {
    expect(refilledIn64Bits(1_000n, 0n, BigInt(tenYears) * 1_000_000_000n, 100n)).toBeLessThan(0n)
  })

  test('leave exactly a full bucket here', () => {
    const { passes } = ours(bucket(1_000, 0.001, 1))
    expect(passes(0, 1_000)).toBe(true)
    expect([passes(tenYears * 1_000, 1_001), passes(tenYears * 1_000, 1_000), passes(tenYears * 1_000)]).toEqual([
      false,
      true,
      false,
    ])
  })
})

describe('S5: a changed configuration', () => {
  test('finds a fresh bucket there: 60 of 100 used, and 200 left', () => {
    const service = new SmyteService()
    service.bucket('alice', 100, 60, 100, 0).reduce(60, 0)
    expect(service.bucket('alice', 200, 60, 200, 0).get(0)).toBe(200)
  })

  test.each([
    [200, 80],
    [100, 40],
    [20, 8],
  ])('finds its share here: 60 of 100 used, of %d are left %d', async (maxAmount, left) => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    // Each as if in a process of its own: in one, a name has one quota.
    const limiter = (amount: number) =>
      rateLimiter({
        quota: bucket(amount, '1m', amount),
        store: { ...store, scope: { owner: {}, name: '' } },
        name: 'api',
      })
    await limiter(100).consume('alice', 60)
    expect((await limiter(maxAmount).peek('alice')).remaining).toBe(left)
  })
})
