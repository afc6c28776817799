import { histories, modelStore, momentsOf, START, testStore } from '@spillway/conformance'
import {
  rateLimiter as fullLimiter,
  penalty,
  perDay,
  perMinute,
  type Quota,
  type Step,
  type Store,
  slidingLog,
  slidingWindow,
  warmingUp,
} from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { rateLimiter } from '@spillway/core/lean'
import fc from 'fast-check'
import { Redis as Ioredis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { redisStore as fullStore } from '../src/index.ts'
import {
  buckets,
  createRedisStore,
  denyCache,
  glide,
  hashedKeys,
  leases,
  listing,
  logs,
  penalties,
  slots,
  warmUps,
  windows,
} from '../src/lean.ts'

let server: Redis
let client: Ioredis
beforeAll(async () => {
  server = await startRedis()
  client = new Ioredis({ port: server.port })
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const algorithms = [buckets, windows, logs, warmUps, penalties, slots] as const
const secret = 'a secret of 16 characters'

let stores = 0
/** A prefix of its own: stores of one client and prefix share their states, and a deny cache. */
const prefix = (): string => `lean-${++stores}`

describe.each<[string, () => Store]>([
  ['all algorithms', () => createRedisStore(...algorithms, listing)(client, { prefix: prefix() })],
  [
    'all algorithms and layers',
    () =>
      createRedisStore(leases, denyCache, hashedKeys, ...algorithms)(client, { prefix: prefix(), hashKeys: secret }),
  ],
])('%s', (_, makeStore) => {
  testStore(
    test,
    async () => {
      await client.flushall()
      return makeStore()
    },
    { histories: 10 },
  )
})

describe.each(algorithms)('$name alone', (feature) => {
  const kernel = feature.algorithm?.kernel as Step['kernel']

  test('answers as the full store does', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await client.flushall()
        const [lean, full] = [
          createRedisStore(feature)(client, { prefix: prefix() }),
          fullStore(client, { denyCache: false }),
        ]
        const model = modelStore(() => START)
        const moments = momentsOf(history)
        for (const [i, { ops }] of history.entries()) {
          const own = ops.filter(({ step }) => step.kernel === kernel)
          const expected = await full.take(own, moments[i])
          expect(await lean.take(own, moments[i])).toEqual(expected)
          if (own.length > 0) expect(expected).toEqual(model.takeSync(own, moments[i]))
        }
      }),
      { numRuns: 50 },
    )
  })
})

const quotas = {
  buckets: perMinute(100),
  windows: slidingWindow({ limit: 10, window: '1m' }),
  logs: slidingLog({ limit: 10, window: '1m' }),
  warmUps: warmingUp({ limit: 10, per: '1s', warmUpPeriod: '1m' }),
  penalties: penalty({ after: 3, within: '1m', block: '1h' }),
  slots: inFlight(3),
} satisfies Readonly<Record<string, Quota>>

describe.each(algorithms)('a store of $name', ({ name }) => {
  const store = createRedisStore(...algorithms.filter((each) => each.name === name))(new Ioredis({ lazyConnect: true }))

  test.each(Object.entries(quotas))('with a quota of %s', (needed, quota) => {
    const build = [
      () => rateLimiter({ quota: quota as never, store }),
      () => fullLimiter({ quota, store, name: `full ${needed}` }),
      () =>
        fullLimiter({
          quotas: { a: quotas[name as keyof typeof quotas], b: quota as Quota },
          store,
          name: `named ${needed}`,
        }),
    ]
    for (const each of build) {
      if (needed === name) expect(each).not.toThrow()
      else expect(each).toThrow(`Write createRedisStore(${needed}), imported from '@spillway/redis/lean'.`)
    }
  })
})

test('a quota that the store cannot count by is a type error', () => {
  const store = createRedisStore(buckets)(client, { prefix: prefix() })
  rateLimiter({ quota: perMinute(1), store })
  // @ts-expect-error: windows is not named
  expect(() => rateLimiter({ quota: quotas.windows, store })).toThrow('windows')
  rateLimiter({ quota: quotas.windows, store: createRedisStore(buckets, windows)(client, { prefix: prefix() }) })
})

test('a limiter whose store lacks penalties has no blocks', () => {
  const store = createRedisStore(buckets)(client, { prefix: prefix() })
  expect(() => fullLimiter({ quota: perMinute(1), blocks: true, store })).toThrow('createRedisStore(penalties)')
})

test('an option of a feature that is not named is a type error, and throws', () => {
  const redisStore = createRedisStore(buckets)
  const say = (feature: string): string => `Write createRedisStore(${feature}), imported from '@spillway/redis/lean'.`
  // @ts-expect-error: denyCache is not named
  expect(() => redisStore(client, { denyCache: '1s' })).toThrow(say('denyCache'))
  // @ts-expect-error: leases is not named
  expect(() => redisStore(client, { lease: 10 })).toThrow(say('leases'))
  // @ts-expect-error: hashedKeys is not named
  expect(() => redisStore(client, { hashKeys: secret })).toThrow(say('hashedKeys'))
  // @ts-expect-error: no such option
  expect(() => redisStore(client, { prefixes: 'a' })).toThrow('redisStore has no option "prefixes". It knows prefix,')
  expect(() => redisStore(client, { constructor: 1 } as never)).toThrow('redisStore has no option "constructor".')
})

test.each([undefined, null, 'buckets', {}, fullStore])('rejects %j as a feature', (feature) => {
  expect(() => createRedisStore(feature as never)).toThrow('createRedisStore takes features; got')
})

test.each([undefined, null, {}, 'redis://localhost'])('rejects %j as a client', (value) => {
  expect(() => createRedisStore(buckets)(value as never)).toThrow('redisStore takes a client of ioredis')
})

test('clients of GLIDE come with a feature', () => {
  const ofGlide = { customCommand: () => {}, del: () => {}, unlink: () => {} } as never
  expect(() => createRedisStore(buckets)(ofGlide)).toThrow('Write createRedisStore(glide)')
  expect(() => createRedisStore(buckets, glide)(ofGlide)).not.toThrow()
})

test('without listing, all keys cannot be reset, and the limiter says so', async () => {
  const store = createRedisStore(buckets)(client, { prefix: prefix() })
  expect('deleteAll' in store).toBe(false)
  await expect(fullLimiter({ quota: perMinute(1), store }).resetAll()).rejects.toThrow('cannot list its states')
})

test('a store with leases returns them', async () => {
  const store = createRedisStore(buckets, leases)(client, { prefix: prefix(), lease: 10, deadline: '10s' })
  const limiter = rateLimiter({ quota: perDay(100), store })
  for (let i = 0; i < 20; i++) await limiter.consume('a')
  await store.release()
  expect((await limiter.peek('a')).remaining).toBe(80)
})

test('stores of one client and prefix share a deny cache, lean or full', async () => {
  const own = prefix()
  const lean = rateLimiter({
    quota: perMinute(1),
    store: createRedisStore(denyCache, buckets)(client, { prefix: own }),
  })
  const full = fullLimiter({ quota: perMinute(1), store: fullStore(client, { prefix: own }) })
  await lean.consume('a')
  expect((await lean.consume('a')).allowed).toBe(false)
  await full.reset('a')
  expect((await lean.consume('a')).allowed).toBe(true)
})

test('a client of node-redis', async () => {
  const nodeRedis = createClient({ url: `redis://127.0.0.1:${server.port}` })
  const limiter = rateLimiter({
    quota: perMinute(2),
    store: createRedisStore(buckets)(nodeRedis, { prefix: prefix(), deadline: '10s' }),
  })
  await nodeRedis.connect()
  const decisions = [await limiter.consume('a'), await limiter.consume('a'), await limiter.consume('a')]
  expect(decisions.map(({ allowed, degraded }) => [allowed, degraded])).toEqual([
    [true, undefined],
    [true, undefined],
    [false, undefined],
  ])
  nodeRedis.destroy()
})

test('brings the deadline, the circuit breaker and the failure mode', async () => {
  const warned: string[] = []
  const logger = { warn: (message: string) => void warned.push(message) }
  const down = new Ioredis({ port: 1, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 })
  const storeOf = (options = {}) => createRedisStore(buckets)(down, { prefix: prefix(), deadline: '10s', ...options })
  const local = rateLimiter({ quota: perMinute(1), store: storeOf(), logger })
  const decisions = [await local.consume('a'), await local.consume('a')]
  expect(decisions.map(({ allowed, degraded }) => [allowed, degraded?.action])).toEqual([
    [true, 'local'],
    [false, 'local'],
  ])
  expect(warned[0]).toContain('Redis')
  const deny = rateLimiter({ quota: perMinute(1), store: storeOf({ onStoreError: 'deny' }), logger })
  expect(await deny.consume('a')).toMatchObject({ allowed: false, degraded: { action: 'deny' } })
  expect(() => storeOf({ onStoreError: 'nonsense' })).toThrow('onStoreError')
})
