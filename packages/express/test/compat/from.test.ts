import type { SlidingWindowTaken, Step } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import express from 'express'
import { MemoryStore } from 'express-rate-limit'
import request from 'supertest'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fromExpressRateLimitStore, toExpressRateLimitStore } from '../../src/compat/index.ts'
import {
  calendarWindow,
  fixedWindow,
  memoryStore,
  perMinute,
  rateLimit,
  rateLimiter,
  slidingWindow,
} from '../../src/index.ts'
import { stopClock } from './pair.ts'

// A store of express-rate-limit under the limiters of Spillway. A minute's window begins with a key's first request.

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

const windowMs = 60_000
const quota = fixedWindow({ limit: 5, window: '1m', align: 'first' })
const pass = (millis: number): void => void vi.setSystemTime(Date.now() + millis)

const made = {
  'their memory store': () => new MemoryStore(),
  'ours with their interface': () => toExpressRateLimitStore(memoryStore()),
}

for (const [name, make] of Object.entries(made)) {
  const limiterOver = (store = make()) => rateLimiter({ quota, store: fromExpressRateLimitStore(store, { windowMs }) })

  test(`${name}: a window begins with a key's first request, and ends all at once`, async () => {
    const limiter = limiterOver()
    pass(17_123)
    const story: [
      afterMs: number,
      cost: number,
      allowed: boolean,
      remaining: number,
      retryMs: number,
      resetMs: number,
    ][] = [
      [0, 1, true, 4, 0, 60_000],
      [20_000, 3, true, 1, 0, 40_000],
      [0, 2, false, 1, 40_000, 40_000],
      [39_999, 1, true, 0, 0, 1],
      [0, 1, false, 0, 1, 1],
      [1, 5, true, 0, 0, 60_000],
      [0, 6, false, 0, Infinity, 60_000],
    ]
    for (const [afterMs, cost, allowed, remaining, retryAfterMs, resetAfterMs] of story) {
      pass(afterMs)
      expect(await limiter.consume('a', cost)).toMatchObject({ allowed, remaining, retryAfterMs, resetAfterMs })
    }
    expect(await limiter.consume('b')).toMatchObject({ allowed: true, remaining: 4 })
  })

  test(`${name}: peeks, refunds, charges and resets`, async () => {
    const limiter = limiterOver()
    expect(await limiter.peek('a')).toMatchObject({ allowed: true, remaining: 5 })
    await limiter.consume('a', 4)
    expect(await limiter.peek('a', 2)).toMatchObject({ allowed: false, remaining: 1, retryAfterMs: 60_000 })
    expect(await limiter.refund('a', 2)).toMatchObject({ remaining: 3 })
    expect(await limiter.charge('a', 9)).toMatchObject({ allowed: true, remaining: 0 })
    await limiter.reset('a')
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 4 })
  })

  test(`${name}: a refund of one window's count does not change the next`, async () => {
    const limiter = limiterOver()
    const reservation = await limiter.reserve('a', { cost: 3, maxWait: 0 })
    pass(windowMs)
    await limiter.consume('a', 2)
    await reservation.cancel()
    expect(await limiter.peek('a')).toMatchObject({ remaining: 3 })
  })

  test(`${name}: of many at once, no more than the limit are allowed`, async () => {
    const limiter = limiterOver()
    const answers = await Promise.all(Array.from({ length: 50 }, () => limiter.consume('a')))
    // Their memory store returns to all callers in one tick the result of the last of them.
    const passed = answers.filter(({ allowed }) => allowed).length
    expect(passed).toBe(name === 'their memory store' ? 0 : 5)
  })
}

test('it serves the middleware of Spillway', async () => {
  const store = fromExpressRateLimitStore(new MemoryStore(), { windowMs })
  const app = express().use(
    rateLimit({
      quota: fixedWindow({ limit: 1, window: windowMs, align: 'first' }),
      store,
      refundIf: (status) => status === 404,
    }),
  )
  app.get('/', (_req, res) => void res.end())
  const get = async (path: string) => {
    const { status, headers } = await request(app).get(path)
    return [status, headers.ratelimit, headers['retry-after']]
  }
  expect(await get('/nowhere')).toEqual([404, '"default";r=0;t=60', undefined])
  expect(await get('/')).toEqual([200, '"default";r=0;t=60', undefined])
  pass(59_001)
  expect(await get('/')).toEqual([429, '"default";r=0;t=1', '1'])
})

test('a batch is all-or-nothing', async () => {
  const theirs = new MemoryStore()
  const store = fromExpressRateLimitStore(theirs, { windowMs })
  const limiter = rateLimiter({ quota, store, name: 'api' })
  await limiter.consume('a', 4)
  const { consumeAll } = await import('@spillway/core')
  expect(
    await consumeAll([
      [limiter, 'b', 2],
      [limiter, 'a', 2],
    ]),
  ).toMatchObject({ allowed: false })
  expect([(await theirs.get('a'))?.totalHits, (await theirs.get('b'))?.totalHits]).toEqual([4, 0])
})

// Reproduces a bug: each of these calls failed.
test('a store that reports null as the end of a window counts whole windows', async () => {
  const counts = new Map<string, number>()
  const counted = (key: string) => ({ totalHits: counts.get(key) ?? 0, resetTime: null as never })
  const theirs = {
    get: counted,
    increment: (key: string) => {
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return counted(key)
    },
    decrement: () => {},
    resetKey: (key: string) => void counts.delete(key),
  }
  const store = fromExpressRateLimitStore(theirs, { windowMs })
  const limiter = rateLimiter({ quota, store, onStoreError: 'throw' })
  expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 4, resetAfterMs: windowMs })
  expect(await limiter.peek('a')).toMatchObject({ allowed: true, remaining: 4 })
})

test('it rejects quotas and policies that it cannot count', async () => {
  const store = fromExpressRateLimitStore(new MemoryStore(), { windowMs })
  // Each on a database of its own: limiters with different options on one would throw.
  const apart = () => ({ ...store, scope: { owner: {}, name: '' } })
  const ask = (options: object) => rateLimiter({ quota, store: apart(), ...options } as never).consume('a')
  await expect(ask({ quota: perMinute(5) })).rejects.toThrow(
    "counts fixedWindow({ limit, window: 60000, align: 'first' }) only",
  )
  await expect(ask({ quota: fixedWindow({ limit: 5, window: '1m' }) })).rejects.toThrow('only')
  await expect(ask({ quota: fixedWindow({ limit: 5, window: '2m', align: 'first' }) })).rejects.toThrow('only')
  await expect(ask({ name: 'other' })).rejects.toThrow('counts one policy, "default" here; "other" needs a store')
  await expect(store.take([], 0)).rejects.toThrow('has its own clock')
})

// A sliding window has the same kernel: such a store would count it as a fixed one.
test.each([
  ['slidingWindow', slidingWindow({ limit: 5, window: '1m' })],
  ['a window of another length', fixedWindow({ limit: 5, window: '2m', align: 'first' })],
  ['a window of the clock', fixedWindow({ limit: 5, window: '1m' })],
  ['a large window of the clock', fixedWindow({ limit: 2 ** 45, window: '1m' })],
  ['a day of a calendar', calendarWindow({ limit: 5, unit: 'day', timeZone: 'Europe/Paris' }), 86_400_000],
  ['a bucket', perMinute(5)],
])('their store takes no %s', async (_what, other, length = windowMs) => {
  const store = fromExpressRateLimitStore(new MemoryStore(), { windowMs: length })
  await expect(async () => rateLimiter({ quota: other, store, onStoreError: 'throw' }).consume('a')).rejects.toThrow(
    'counts fixedWindow(',
  )
})

test('a refund is of the window that it was consumed in, whose start may differ by less than half of it', async () => {
  const store = fromExpressRateLimitStore(new MemoryStore(), { windowMs })
  const take = async (step: Step) => (await store.take([{ policy: 'a', key: 'a', step }]))[0] as SlidingWindowTaken
  const { start } = await take(stepFor(quota, 'consume', 3))
  const refund = async (sinceMs: number) =>
    (await take({ ...stepFor(quota, 'refund', 1), since: start + sinceMs * 1_000 } as Step)).current
  expect(await refund(-60_000)).toBe(3)
  expect(await refund(-30_000)).toBe(3)
  expect(await refund(-29_999)).toBe(2)
  expect(await refund(0)).toBe(1)
})
