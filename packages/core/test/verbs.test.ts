import { fakeClock, modelStore, START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { leakyBucket, perMinute, perSecond, type Quota, rateLimiter, slidingWindow, tokenBucket } from '../src/index.ts'
import { stepFor } from '../src/internal.ts'
import { bucket } from '../src/kernels/bucket.ts'

const limiterOf = (quota: Quota) => rateLimiter({ quota, store: modelStore(fakeClock()) })

describe('what can be charged', () => {
  test('is denied only once 95 years are owed', () => {
    const step = (cost: number) => stepFor(perSecond(1_000_000), 'charge', cost)
    const full = bucket(undefined, START, step(3e15))
    const over = bucket(full.taken, START, step(1))
    const more = bucket(over.taken, START, step(1))
    expect([full.allowed, over.allowed, more.allowed]).toEqual([true, true, false])
  })

  test('or refunded in one call is 95 years of a bucket, or as many units as can be counted', async () => {
    const limiter = limiterOf(perSecond(1))
    const tooMuch = '95 years of this quota'
    expect(await limiter.charge('alice', 3e9)).toMatchObject({ allowed: true, resetAfterMs: 3e12 })
    await expect(limiter.charge('alice', 3e9 + 1)).rejects.toThrow(tooMuch)
    await expect(limiter.refund('alice', 3e9 + 1)).rejects.toThrow(tooMuch)
    expect(await limiter.refund('alice', 3e9)).toMatchObject({ remaining: 1 })
    const windowed = limiterOf(slidingWindow({ limit: 1, window: '1s' }))
    expect(await windowed.charge('alice', 2 ** 50)).toMatchObject({ allowed: true, remaining: 0 })
    await expect(windowed.charge('alice', 2 ** 50 + 1)).rejects.toThrow(tooMuch)
  })

  test('is no bound for consume: that is denied', async () => {
    expect(await limiterOf(perSecond(1)).consume('alice', 3e9 + 1)).toMatchObject({ retryAfterMs: Infinity })
  })
})

test('a bucket whose clock has stepped back is whole again within its time to full, what may be owed included', () => {
  const quota = tokenBucket({ limit: 1, per: '1s', burst: 5, overdraft: 3 })
  const owing = bucket(undefined, START, stepFor(quota, 'consume', 8)).taken
  expect(bucket(owing, START - 3.6e9, stepFor(quota, 'peek', 1)).base).toBe(START - 3.6e9 + 8e6)
})

describe('of several policies', () => {
  const decisionOf = async (quotas: Record<string, Quota>, takes: number) => {
    const limiter = rateLimiter({ quotas, store: modelStore(fakeClock()) })
    for (let i = 1; i < takes; i++) await limiter.consume('alice')
    return limiter.consume('alice')
  }
  const every = (millis: number): Quota => tokenBucket({ limit: 1, per: millis })

  test.each([
    ['the longer wait', every(2_000), every(1_000), 'first'],
    ['the longer wait, though it comes last', every(1_000), every(2_000), 'second'],
    ['the wait that is longer by half a millisecond', every(1_000), every(1_000.5), 'second'],
    ['not the one that is shorter by half a millisecond', every(1_000), every(999.5), 'first'],
    ['the first of two alike', every(1_000), every(1_000), 'first'],
  ])('that deny, %s speaks', async (_, first, second, speaks) => {
    expect((await decisionOf({ first, second }, 2)).policy).toBe(speaks)
  })

  test.each([
    ['the one with least left', 5, 9, 'first'],
    ['the one with least left, though it comes last', 9, 5, 'second'],
    ['the one with one less', 6, 5, 'second'],
    ['the first of two alike', 5, 5, 'first'],
  ])('that allow, %s speaks', async (_, first, second, speaks) => {
    expect((await decisionOf({ first: perMinute(first), second: perMinute(second) }, 1)).policy).toBe(speaks)
  })

  test('one denial leaves nothing to wait for in the queue of another', async () => {
    const quotas = { queue: leakyBucket({ limit: 1, per: '1s', queue: 5 }), minute: perMinute(1) }
    expect(await decisionOf(quotas, 2)).toMatchObject({ allowed: false, delayMs: 0, violated: ['minute'] })
  })
})
