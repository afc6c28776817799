import { fakeClock, faultyStore } from '@spillway/conformance'
import type { Store } from '@spillway/core'
import { redisStore } from '@spillway/redis'
import type express from 'express'
import { MemoryStore, type Store as TheirStore, rateLimit as theirs } from 'express-rate-limit'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { type RedisReply, RedisStore } from 'rate-limit-redis'
import request from 'supertest'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startRedis } from '../../../../test/services/redis.ts'
import {
  type ExpressRateLimitStore,
  fromExpressRateLimitStore,
  MemoryStore as OurMemoryStore,
  rateLimit as ours,
  toExpressRateLimitStore,
} from '../../src/compat/index.ts'
import { fixedWindow, memoryStore, perMinute, rateLimiter } from '../../src/index.ts'
import { answer, appOf, START, stopClock } from './pair.ts'

const windowMs = 60_000

type Call = readonly [verb: 'increment' | 'decrement' | 'get' | 'resetKey', key: string, afterMs: number]

const histories: fc.Arbitrary<readonly Call[]> = fc.array(
  fc.tuple(
    fc.constantFrom('increment', 'increment', 'increment', 'decrement', 'get', 'resetKey'),
    fc.constantFrom('a', 'b', ''),
    fc.oneof(fc.constantFrom(0, 1, windowMs - 1, windowMs, windowMs + 1), fc.nat(2 * windowMs)),
  ),
  { maxLength: 40 },
)

describe('over a stopped clock', () => {
  beforeEach(stopClock)
  afterEach(() => void vi.useRealTimers())

  /** The results of a history; like a limiter, it never subtracts from a missing count. */
  async function resultsOf(make: () => TheirStore | ExpressRateLimitStore, history: readonly Call[]): Promise<unknown> {
    vi.setSystemTime(START)
    const store = make()
    void (store as ExpressRateLimitStore).init?.({ windowMs })
    const answers: unknown[] = []
    for (const [verb, key, afterMs] of history) {
      vi.setSystemTime(Date.now() + afterMs)
      if (verb === 'decrement' && !(await store.get?.(key))?.totalHits) continue
      const counted = await store[verb]?.(key)
      // A window without hits that starts at this moment differs from a missing one only a moment later.
      const startsNow = counted?.totalHits === 0 && counted.resetTime?.getTime() === Date.now() + windowMs
      answers.push(startsNow ? undefined : counted && [counted.totalHits, counted.resetTime?.getTime()])
    }
    return answers
  }

  test('ours counts every history like the memory store of express-rate-limit', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const memory = new MemoryStore()
        const expected = await resultsOf(() => memory, history)
        memory.shutdown()
        expect(await resultsOf(() => toExpressRateLimitStore(memoryStore()), history)).toEqual(expected)
        expect(await resultsOf(() => new OurMemoryStore(), history)).toEqual(expected)
      }),
    )
  })

  test('ours serves the real limiter, and theirs ours', async () => {
    const stores = { ours: () => toExpressRateLimitStore(memoryStore()), theirs: () => new MemoryStore() }
    const apps = [theirs, ours].flatMap((limit) =>
      Object.values(stores).map((store) => appOf((limit as typeof theirs)({ windowMs, limit: 2, store: store() }))),
    )
    for (const afterMs of [0, 20_000, 39_999, 1, 0]) {
      vi.setSystemTime(Date.now() + afterMs)
      const answers = await Promise.all(apps.map((app) => answer(app, {})))
      expect(answers).toEqual(answers.map(() => answers[0]))
    }
  })

  test('limiters with different names share a store of ours', async () => {
    const store = memoryStore()
    const named = (name: string) => appOf(ours({ limit: 1, store: toExpressRateLimitStore(store, { name }) }))
    const [logins, searches] = [named('logins'), named('searches')]
    expect(await answer(logins, {})).toMatchObject({ status: 200 })
    expect(await answer(logins, {})).toMatchObject({ status: 429 })
    expect(await answer(searches, {})).toMatchObject({ status: 200 })
  })

  test('a key can be read and deleted', async () => {
    const limit = ours({ limit: 1, keyGenerator: () => 'all', store: memoryStore() })
    const app = appOf(limit)
    expect(await limit.getKey('all')).toBeUndefined()
    await answer(app, {})
    expect(await limit.getKey('all')).toEqual({ totalHits: 1, resetTime: new Date(START + windowMs) })
    await limit.resetKey('all')
    expect(await limit.getKey('all')).toBeUndefined()
    expect(await answer(app, {})).toMatchObject({ status: 200 })
  })
})

// A limited key's window was evicted before those of fresh keys: 5 of 5 requests were allowed again after a flood.
test.each([1.03, 3, 10])('a limited key outlives a flood of %d times maxKeys fresh keys', async (times) => {
  const [maxKeys, limit] = [1_000, 5]
  const clock = fakeClock()
  const store = toExpressRateLimitStore(memoryStore({ maxKeys, clock }), { windowMs })
  const resetTime = new Date(clock() / 1000 + windowMs)
  for (let hits = 1; hits <= limit; hits++)
    expect(await store.increment('silent')).toEqual({ totalHits: hits, resetTime })
  let knocks = 0
  const fresh = times * maxKeys
  for (let i = 0; i < fresh; i++) {
    clock.advance((0.9 * windowMs) / fresh)
    expect(await store.increment(`fresh-${i}`)).toMatchObject({ totalHits: 1 })
    if (i % 100 === 0) expect(await store.increment('knocking')).toMatchObject({ totalHits: ++knocks })
  }
  expect(await store.increment('silent')).toEqual({ totalHits: limit + 1, resetTime })
})

test('a store with callbacks works too', async () => {
  let hits = 0
  const legacy = {
    incr: (key: string, done: (error: Error | undefined, totalHits: number, resetTime: Date | undefined) => void) => {
      hits++
      if (key === 'fails') done(new Error('down'), 0, undefined)
      else done(undefined, hits, undefined)
    },
    decrement: () => void hits--,
    resetKey: () => {},
  }
  const options = {
    limit: 2,
    store: legacy,
    skipSuccessfulRequests: true,
    keyGenerator: (req: express.Request) => req.path,
    validate: false,
  }
  const both = [appOf(theirs(options)), appOf(ours(options))]
  for (const path of ['/', '/', 'fails', '/']) {
    const [one, other] = [
      await answer(both[0] as express.Express, { path }),
      await answer(both[1] as express.Express, { path }),
    ]
    expect(other).toEqual(one)
  }
  expect(() => ours(options).getKey('a')).toThrow('has no get')
})

test.each([true, false])('while a store fails, passOnStoreError: %s applies', async (passOnStoreError) => {
  const down = () => Promise.reject(new Error('down'))
  const store = { init: down, increment: down, decrement: down, resetKey: down }
  const heard: unknown[] = []
  const logger = { error: (error: unknown) => void heard.push((error as Error).message), warn: () => {} }
  const options = { store, passOnStoreError, logger, validate: false }
  expect(await answer(appOf(ours(options)), {})).toEqual(await answer(appOf(theirs(options)), {}))
  expect(heard.sort()).toEqual(passOnStoreError ? ['down', 'down', 'down', 'down'] : ['down', 'down'])
})

// Reproduces: the answer was read after the place that recognises failures, so that the request failed with 500.
test.each([undefined, null, 1, 'one'])(
  'a store that answers %j has failed, and passOnStoreError applies',
  async (value) => {
    const increment = () => Promise.resolve(value as never)
    const store = { increment, decrement: () => {}, resetKey: () => {} }
    const heard: unknown[] = []
    const logger = { error: (error: unknown) => void heard.push((error as Error).message), warn: () => {} }
    const options = { store, logger, validate: false }
    expect(await answer(appOf(ours({ ...options, passOnStoreError: true })), {})).toMatchObject({ status: 200 })
    expect(heard).toEqual([expect.stringContaining('increment of the store must return { totalHits, resetTime }')])
    // The app's own handler of errors.
    expect(await answer(appOf(ours(options)), {})).toMatchObject({ status: 503 })
  },
)

// Reproduces a bug: these warnings went to the console, whatever the limiter's logger.
test.each([
  ['ours', ours],
  ['express-rate-limit', theirs],
])('a store that fails is reported to the logger of its limiter, %s', async (name, limit) => {
  const onConsole = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const inner = faultyStore(memoryStore())
  inner.break('failing')
  const warnings: string[] = []
  const logger = { error: () => {}, warn: (message: unknown) => void warnings.push(String(message)) }
  const store = toExpressRateLimitStore(inner, { name: `logged by ${name}` })
  const limiter = limit({ store: store as never, passOnStoreError: true, logger, validate: false }) as never
  expect((await request(appOf(limiter)).get('/')).status).toBe(200)
  expect(warnings).toEqual([expect.stringContaining('connection lost')])
  expect(onConsole).not.toHaveBeenCalled()
  onConsole.mockRestore()
})

// Reproduces a bug: what a store itself warns of went to the console, whatever the limiter's logger.
test.each([
  ['ours', ours],
  ['express-rate-limit', theirs],
])('a store and its registry warn the logger of the limiter, %s', async (_, limit) => {
  const onConsole = vi.spyOn(console, 'warn').mockImplementation(() => {})
  vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'api')
  const warnings: string[] = []
  const logger = { error: () => {}, warn: (message: unknown) => void warnings.push(String(message)) }
  const inner = memoryStore()
  const store = toExpressRateLimitStore(inner) as never
  const limiter = limit({ store, logger, validate: false }) as never
  expect((await request(appOf(limiter)).get('/')).status).toBe(200)
  for (let i = 0; i < 2; i++) rateLimiter({ quota: perMinute(9), store: inner })
  expect(warnings).toEqual([
    expect.stringContaining('this process is an instance of AWS Lambda'),
    expect.stringContaining('two limiters without a name are on one database'),
  ])
  expect(onConsole).not.toHaveBeenCalled()
  vi.unstubAllEnvs()
  onConsole.mockRestore()
})

test('a store over ours needs the length of a window', async () => {
  await expect(toExpressRateLimitStore(memoryStore()).increment('a')).rejects.toThrow('needs windowMs')
  expect(await toExpressRateLimitStore(memoryStore(), { windowMs }).increment('a')).toMatchObject({ totalHits: 1 })
})

describe('over Redis', () => {
  let server: Awaited<ReturnType<typeof startRedis>>
  let redis: Redis
  beforeAll(async () => {
    server = await startRedis()
    redis = new Redis(server.port, '127.0.0.1')
  })
  afterAll(async () => {
    redis.disconnect()
    await server.stop()
  })
  const sendCommand = (...[command = '', ...args]: string[]) => redis.call(command, ...args) as Promise<RedisReply>

  test('a count goes on where express-rate-limit has left it, and back', async () => {
    const options = () => ({ limit: 3, windowMs: 3_600_000, store: new RedisStore({ sendCommand }), validate: false })
    const statuses: number[] = []
    for (const limit of [theirs, ours, theirs, ours] as (typeof theirs)[]) {
      statuses.push((await request(appOf(limit(options()))).get('/')).status)
    }
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  // Reproduces a bug: rate-limit-redis reports NaN hits of a missing key, which ours denied.
  test('a key that Redis does not have is full', async () => {
    const theirStore = new RedisStore({ sendCommand, prefix: 'full:' })
    const limiter = rateLimiter({
      quota: fixedWindow({ limit: 5, window: windowMs, align: 'first' }),
      store: fromExpressRateLimitStore(theirStore, { windowMs }),
      deadline: '10s',
      onStoreError: 'throw',
    })
    expect(await limiter.peek('alice')).toMatchObject({ allowed: true, remaining: 5, resetAfterMs: 0 })
    expect(await limiter.reset('alice')).toBe(false)
    expect(await limiter.consume('alice')).toMatchObject({ allowed: true, remaining: 4 })
    expect(await limiter.reset('alice')).toBe(true)
  })

  test('two processes of the real limiter count together by our store', async () => {
    const app = () =>
      appOf(
        theirs({
          limit: 20,
          windowMs: 3_600_000,
          store: toExpressRateLimitStore(redisStore(redis), { name: 'api', deadline: '1m' }),
        }),
      )
    const apps = [app(), app()]
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => request(apps[i % 2] as express.Express).get('/')),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
    expect(new Set(answers.map(({ headers }) => headers['x-ratelimit-reset'])).size).toBe(1)
  })
})

test.each<[string, Store]>([
  ['in memory', memoryStore()],
  ['remote', faultyStore(memoryStore())],
])('a store over ours, %s, resets all keys', async (_, inner) => {
  const store = toExpressRateLimitStore(inner, { windowMs })
  for (const key of ['a', 'b', 'b']) await store.increment(key)
  await store.resetAll?.()
  expect([await store.get?.('a'), await store.get?.('b')]).toEqual([undefined, undefined])
  expect(await store.increment('b')).toMatchObject({ totalHits: 1 })
})
