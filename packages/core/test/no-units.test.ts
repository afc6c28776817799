import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { advertised } from '../src/http/headers/header-item.ts'
import {
  divideQuota,
  fixedWindow,
  leakyBucket,
  perMinute,
  perMonth,
  type Quota,
  rateLimiter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'
import { policiesFrom } from '../src/rules/index.ts'
import { rule } from './documents.ts'

// A plan whose limit is 0 in the database made every request of its customers an error: no quota had 0 units.
const none: readonly (readonly [string, Quota, number])[] = [
  ['perMinute', perMinute(0), 60],
  ['perMinute with a burst', perMinute(0, { burst: 5 }), 60],
  ['tokenBucket', tokenBucket({ limit: 0, per: '10s', initial: 0, overdraft: 5 }), 10],
  ['an interval refill', tokenBucket({ limit: 0, per: '1m', refill: '1s' }), 60],
  ['leakyBucket', leakyBucket({ limit: 0, per: '1m', queue: 5 }), 60],
  ['fixedWindow', fixedWindow({ limit: 0, window: '1h', offset: '5m' }), 3600],
  ['fixedWindow from the first request', fixedWindow({ limit: 0, window: '1h', align: 'first' }), 3600],
  ['perMonth', perMonth(0), 31 * 86_400],
  ['slidingWindow', slidingWindow({ limit: 0, window: '1m' }), 60],
  ['slidingLog', slidingLog({ limit: 0, window: '1m' }), 60],
]

const never = { allowed: false, limit: 0, remaining: 0, retryAfterMs: Infinity, resetAfterMs: 0, replenishAfterMs: 0 }

describe.each(none)('a limit of 0 of %s', (_, quota, windowSeconds) => {
  const limiterOf = (blocks: boolean) => rateLimiter({ quota, blocks, store: modelStore(fakeClock()), name: 'plan' })

  test.each([false, true])('denies each verb that consumes, with a block list: %s', async (blocks) => {
    const limiter = limiterOf(blocks)
    expect(await limiter.consume('a')).toMatchObject(never)
    expect(await limiter.consume('a', 1_000)).toMatchObject(never)
    expect(await limiter.peek('a')).toMatchObject(never)
    expect(await limiter.consumeUpTo('a', 10)).toMatchObject({ ...never, consumed: 0 })
    expect((await limiter.reserve('a', { maxWait: '1h' })).allowed).toBe(false)
    await expect(limiter.wait('a', { maxWait: '1h' })).rejects.toThrow()
    expect(await limiter.charge('a', 3)).toMatchObject({ allowed: true, remaining: 0, delayMs: 0 })
    expect(await limiter.refund('a', 3)).toMatchObject({ allowed: true, remaining: 0 })
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: Infinity })
  })

  test('is advertised with its window', () => {
    expect(advertised(quota)).toEqual({ limit: 0, window: windowSeconds })
  })

  test('has no share of one of several processes', async () => {
    const share = divideQuota(quota, { replicas: 4 })
    expect((await rateLimiter({ quota: share, store: modelStore(fakeClock()) }).consume('a')).allowed).toBe(false)
  })
})

test('keeps the count of a key whose plan is suspended and resumed', async () => {
  const limiter = rateLimiter({ quota: perMinute(10), store: modelStore(fakeClock()) })
  await limiter.consume('a', 10)
  limiter.replace({ quota: perMinute(0) })
  expect(await limiter.consume('a')).toMatchObject(never)
  limiter.replace({ quota: perMinute(10) })
  expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 6_000 })
})

test.each([
  ['token_bucket', { limit: 0, per: '1m' }, perMinute(0)],
  ['leaky_bucket', { limit: 0, per: '1m', queue: 1 }, perMinute(0)],
  ['fixed_window', { limit: 0, window: '1m' }, perMinute(0)],
  ['calendar_window', { limit: 0, unit: 'month' }, perMonth(0)],
  ['sliding_window', { limit: 0, window: '1m' }, slidingWindow({ limit: 0, window: '1m' })],
  ['sliding_log', { limit: 0, window: '1m' }, slidingLog({ limit: 0, window: '1m' })],
])('a rule of %s may have a limit of 0', (algorithm, config, quota) => {
  expect(policiesFrom([rule({ algorithm, algorithm_config: config })])[0]?.quota).toEqual(quota)
})

test('refuses a quota that was changed to have no units', () => {
  for (const quota of [
    perMinute(5),
    fixedWindow({ limit: 5, window: '1m' }),
    tokenBucket({ limit: 5, per: '1m', overdraft: 1 }),
  ])
    expect(() => rateLimiter({ quota: { ...quota, limit: 0 }, store: modelStore(fakeClock()) })).toThrow('do not agree')
})
