import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  divideQuota,
  fixedWindow,
  leakyBucket,
  perMinute,
  perSecond,
  type Quota,
  QuotaError,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'
import { asked, crowd, second } from './asked.ts'

const quotas: Readonly<Record<string, (limit: number) => Quota>> = {
  perMinute: (limit) => perMinute(limit),
  'a token bucket that refills every minute': (limit) => tokenBucket({ limit, per: '1m', refill: '1m', burst: limit }),
  'a fixed window': (limit) => fixedWindow({ limit, window: '1m' }),
  'a fixed window from the first request': (limit) => fixedWindow({ limit, window: '1m', align: 'first' }),
  'a leaky bucket': (limit) => leakyBucket({ limit, per: '1m', queue: 12 }),
  'a sliding window': (limit) => slidingWindow({ limit, window: '1m' }),
  'a sliding log': (limit) => slidingLog({ limit, window: '1m' }),
}

/** What a crowd gets that comes back every seven seconds for five minutes, from all of some limiters. */
function given(quota: Quota, limiters: number): number {
  const all = Array.from({ length: limiters }, () => asked(quota))
  let total = 0
  for (let micros = 0; micros < 300 * second; micros += 7 * second) {
    for (const each of all) total += crowd(each, micros)
  }
  return total
}

describe.each(Object.entries(quotas))('the share of %s', (_, quotaOf) => {
  test('is the quota itself for one process', () => {
    expect(divideQuota(quotaOf(10), { replicas: 1 })).toEqual(quotaOf(10))
  })

  test('gives no more, together, than the quota: its burst, and its rate for five minutes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 1, max: 40 }), (replicas, each) => {
        const quota = quotaOf(replicas * each)
        const most = quota.limit + 5 * replicas * each
        expect(given(divideQuota(quota, { replicas }), replicas)).toBeLessThanOrEqual(most)
      }),
      { numRuns: 30 },
    )
  })

  test('of less than a unit for each is one, as much less often', () => {
    const share = asked(divideQuota(quotaOf(2), { replicas: 4 }))
    expect(crowd(share, 0)).toBeGreaterThanOrEqual(1)
    const later = 6_000 * second
    let units = 0
    for (let micros = second; micros <= later; micros += second) units += crowd(share, micros)
    const all = given(quotaOf(2), 1) / 5
    expect(units / 100).toBeLessThanOrEqual(all / 4 + 0.1)
    expect(units).toBeGreaterThan(0)
  })
})

test('is in the quota itself', () => {
  expect(divideQuota(perMinute(300), { replicas: 4 })).toEqual(perMinute(75))
  expect(divideQuota(perSecond(10, { burst: 2 }), { replicas: 5 })).toEqual(perSecond(2, { burst: 1 }))
  expect(divideQuota(fixedWindow({ limit: 1e9, window: '1m', offset: '9s' }), { replicas: 4 })).toEqual({
    ...fixedWindow({ limit: 1e9, window: '1m', offset: '9s' }),
    limit: 2.5e8,
  })
  expect(divideQuota(fixedWindow({ limit: 2, window: '1m' }), { replicas: 4 })).toEqual(
    fixedWindow({ limit: 1, window: '2m' }),
  )
})

test.each([0, -1, 1.5, '4', undefined])('rejects %o replicas', (replicas) => {
  const check = () => divideQuota(perMinute(10), { replicas: replicas as number })
  expect(check).toThrow(QuotaError)
  expect(check).toThrow('divideQuota replicas must be a whole number, 1 or more; got')
})

test.each([{}, { refill: '20s' as const }])('the units that a new key starts with are shared, too: %o', (refill) => {
  const whole = { limit: 60, per: '1m', burst: 20, initial: 9, keepFull: '1h', ...refill } as const
  expect(divideQuota(tokenBucket(whole), { replicas: 4 })).toEqual(
    tokenBucket({ ...whole, limit: 15, burst: 5, initial: 2 }),
  )
})
