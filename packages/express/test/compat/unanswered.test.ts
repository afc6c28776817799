import type { Store } from '@spillway/core'
import { redisStore } from '@spillway/redis'
import { Redis } from 'ioredis'
import request from 'supertest'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type ExpressRateLimitStore, type Options, rateLimit, toExpressRateLimitStore } from '../../src/compat/index.ts'
import { appOf } from './pair.ts'

const logger = { warn: () => {}, error: () => {} }
afterEach(() => void vi.restoreAllMocks())
const appWith = (store: Partial<Options>['store'], passOnStoreError: boolean) =>
  appOf(rateLimit({ store, passOnStoreError, logger, validate: false }))

// Reproduces a bug: the warning named `onStoreError`, which the drop-in does not have.
test('the warning of a store that fails names the option that decides', async () => {
  const warn = vi.spyOn(logger, 'warn')
  const failing: Store = { take: () => Promise.reject(new Error('no server')), delete: async () => 0 }
  expect((await request(appWith(failing, true)).get('/')).status).toBe(200)
  expect(warn.mock.calls).toEqual([
    [expect.stringContaining('no server. passOnStoreError decides about these requests')],
  ])
})

// The client sends its commands when it is connected again: requests waited for that, even with passOnStoreError.
describe('a Redis that is down', () => {
  test.each([
    [true, 200],
    [false, 503],
  ])('with passOnStoreError: %s, is answered with %d', async (passes, expected) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const redis = new Redis({ port: 1, maxRetriesPerRequest: null })
    redis.on('error', () => {})
    const app = appWith(redisStore(redis), passes)
    for (let i = 0; i < 7; i++) expect((await request(app).get('/')).status).toBe(expected)
    redis.disconnect()
  })
})

test('every call over a store that does not answer rejects', async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {})
  const never = new Promise<never>(() => {})
  const silent: Store = { take: () => never, delete: () => never }
  const store = toExpressRateLimitStore(silent, { windowMs: 1_000, deadline: '1ms' })
  for (const call of ['increment', 'decrement', 'get', 'resetKey'] as const)
    await expect(store[call]?.('a')).rejects.toThrow('did not answer within 1 ms')
})

describe('a store of express-rate-limit that fails', () => {
  afterEach(() => void vi.useRealTimers())

  const usual = { decrement: () => {}, resetKey: () => {} }
  const thrown = (): never => {
    throw new Error('no server')
  }
  const failing: Readonly<Record<string, ExpressRateLimitStore>> = {
    'never answers': { ...usual, increment: () => new Promise(() => {}) },
    'throws at once': { ...usual, increment: thrown },
    'rejects with no error': { ...usual, increment: () => Promise.reject(undefined) },
    'answers null': { ...usual, increment: () => null as never },
  }
  test.each(Object.keys(failing))('and %s passes its request on, or fails it', async (name) => {
    vi.useFakeTimers()
    const outcomes: unknown[] = []
    for (const passOnStoreError of [true, false]) {
      const limit = rateLimit({
        store: failing[name] as ExpressRateLimitStore,
        passOnStoreError,
        logger,
        validate: false,
        keyGenerator: () => 'a',
      })
      void limit({ headers: {} } as never, { once: () => {}, setHeader: () => {} } as never, (error?: unknown) => {
        outcomes.push(error === undefined ? 'passed' : 'failed')
      })
      await vi.advanceTimersByTimeAsync(10_000)
    }
    expect(outcomes).toEqual(['passed', 'failed'])
  })

  test.each([
    ['hits that are no number', { totalHits: Number.NaN, resetTime: new Date() }],
    ['no end of the window', { totalHits: 1, resetTime: undefined }],
  ])('answers %s: its request is passed on, as in express-rate-limit', async (_what, counted) => {
    const app = appWith({ ...usual, increment: () => counted }, false)
    expect((await request(app).get('/')).status).toBe(200)
  })
})
