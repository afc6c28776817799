import { fakeClock, modelStore } from '@spillway/conformance'
import { expect, test } from 'vitest'
import { perMinute, QuotaError, RateLimitedError, rateLimiter, StoreError } from '../src/index.ts'

// Reproduces a bug: frameworks send the messages of these errors to API clients, who read a link to our pages.
test('errors of single requests have no link to our pages', async () => {
  const limiter = rateLimiter({ quota: perMinute(1), store: modelStore(fakeClock()) })
  await limiter.consume('ann')
  const denied: unknown = await limiter.wait('ann', { maxWait: 5 }).catch((error: unknown) => error)
  const down = { take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) }
  const failing = rateLimiter({ quota: perMinute(1), store: down, onStoreError: 'throw' })
  const failed: unknown = await failing.consume('ann').catch((error: unknown) => error)
  expect([denied instanceof RateLimitedError, failed instanceof StoreError]).toEqual([true, true])
  for (const error of [denied, failed]) expect((error as Error).message).not.toMatch(/http|\[/)
  // Mistakes in the program have one.
  expect(new QuotaError('ERR_SPILLWAY_COST', 'no').message).toContain('docs/errors/err-spillway-cost.md')
})
