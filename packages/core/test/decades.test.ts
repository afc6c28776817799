import { fakeClock, modelStore } from '@spillway/conformance'
import { expect, test } from 'vitest'
import { rateLimiter, tokenBucket } from '../src/index.ts'

// A bucket of 40 years: the page about algorithms names the bound.
test.each([
  ['up to 31 years of refunds', 20, 38],
  ['more, which it cannot tell apart', 38, 33],
])('a bucket of decades refunds any request after %s', async (_, refunded, remaining) => {
  const quota = tokenBucket({ limit: 1, per: '365d', burst: 40 })
  const limiter = rateLimiter({ quota, store: modelStore(fakeClock()) })
  const reserve = (cost: number) => limiter.reserve('ann', { cost, maxWait: 0 })
  await limiter.consume('ann', refunded + 2)
  await limiter.refund('ann', refunded)
  const [first, second] = [await reserve(5), await reserve(5)]
  expect((await limiter.peek('ann')).remaining).toBe(28)
  await first.cancel()
  await second.cancel()
  expect((await limiter.peek('ann')).remaining).toBe(remaining)
})
