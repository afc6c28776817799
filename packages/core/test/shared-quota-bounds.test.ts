import { describe, expect, test } from 'vitest'
import {
  perMinute,
  perSecond,
  QuotaError,
  type RateLimiter,
  type Store,
  sharedQuotaBounds,
  slidingWindow,
  tokenBucket,
  withSharedQuota,
} from '../src/index.ts'
import { quota, setUp } from './sharing.ts'

test.each([
  ['a small quota', perMinute(100)],
  ['a refill at intervals', tokenBucket({ limit: 60_000, per: '1m', refill: '1s' })],
  ['a sliding window', slidingWindow({ limit: 60_000, window: '1m' })],
])('%s is not shared: each request is a call, with the store’s decision', async (_, quota) => {
  const { limiter, direct, callsOf } = setUp({ quota })
  for (let i = 1; i <= 20; i++) {
    expect((await limiter.consume('a')).remaining).toBe(quota.limit - i)
  }
  expect((await direct.peek('a')).remaining).toBe(quota.limit - 20)
  expect(callsOf()).toBe(20)
  expect(sharedQuotaBounds(quota, { processes: 8 })).toMatchObject({
    held: 0,
    callsPerSecond: Number.POSITIVE_INFINITY,
  })
})

describe('sharedQuotaBounds', () => {
  test('returns what the docs say', () => {
    expect(sharedQuotaBounds(perMinute(60_000), { processes: 1 })).toEqual({
      ...{ holdMs: 600, held: 600, overAdmission: 600, underAdmission: 600, callsPerSecond: 2 / 0.6 },
    })
    expect(sharedQuotaBounds(perSecond(1_000), { processes: 8, margin: 0.1 })).toEqual({
      ...{ holdMs: 100, held: 100, overAdmission: 100, underAdmission: 800, callsPerSecond: 160 },
    })
  })

  // All were said to be shared, though such a request consumes what a share leaves in the bucket: 1,041 of 1,000.
  test('bounds what requests that are alone in their process admit beyond the quota', async () => {
    const ten = tokenBucket({ limit: 1_000, per: '10s' })
    const { limiters, pass, callsOf } = setUp({ quota: ten, processes: 60, margin: 0.05 })
    const [holder, drain, ...alone] = limiters as [RateLimiter, RateLimiter, ...RateLimiter[]]
    const admitted = async (limiter: RateLimiter, times: number): Promise<number> => {
      let count = 0
      for (let i = 0; i < times; i++) if ((await limiter.consume('a')).allowed) count++
      return count
    }
    for (let i = 0; i < 250; i++) {
      await admitted(holder, 1)
      await pass(12)
    }
    for (const before = callsOf(); callsOf() === before; await pass(12)) await admitted(holder, 1)
    // The bucket is full again, and the process still holds its share.
    await pass(460)
    let all = await admitted(drain, 1_000)
    for (const each of alone) all += await admitted(each, 1)
    all += await admitted(holder, 60)
    expect(all).toBeGreaterThan(ten.limit)
    expect(all).toBeLessThanOrEqual(ten.limit + sharedQuotaBounds(ten, { processes: 60, margin: 0.05 }).overAdmission)
  })

  const single: Store = { take: async () => [], delete: async () => 0 }

  test.each([
    [() => withSharedQuota(single), /takes one batch at a time/],
    [() => withSharedQuota(single, { margin: 0 }), /withSharedQuota margin must be a number above 0/],
    [() => sharedQuotaBounds(quota, { processes: 1, margin: 0.6 }), /at most 0.5.*got 0.6/],
    [() => sharedQuotaBounds(quota, { processes: 0 }), /processes must be a whole number, 1 or more/],
    [() => withSharedQuota(single, { size: 1 } as object), /has no option "size"/],
  ])('rejects invalid options: %s', (build, message) => {
    expect(build).toThrow(QuotaError)
    expect(build).toThrow(message)
  })
})
