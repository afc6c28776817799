import { modelStore, START } from '@spillway/conformance'
import { type BucketTaken, perMinute, type Quota, type Store, slidingLog, type Take, tokenBucket } from '@spillway/core'
import { stepFor, type Verb } from '@spillway/core/internal'
import fc from 'fast-check'
import { Redis as Ioredis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { bucketsScript } from '../src/algorithms/plain-buckets.ts'
import { redisStore } from '../src/index.ts'

// The script for plain buckets has an arithmetic of its own. These tests compare it with the kernel.

let server: Redis
let client: Ioredis
beforeAll(async () => {
  server = await startRedis()
  client = new Ioredis({ port: server.port })
})
beforeEach(() => client.flushall())
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const quotas: readonly Quota[] = [
  perMinute(10),
  tokenBucket({ limit: 7, per: '1m' }),
  tokenBucket({ limit: 11, per: '1m', burst: 3 }),
  tokenBucket({ limit: 10, per: '1m', overdraft: 4 }),
]
const steps = quotas.map((quota) => [1, 2, 5].map((cost) => stepFor(quota, 'consume', cost)))

const take = (quota: number, cost: number, key: string): Take => ({
  policy: 'p',
  key,
  step: steps[quota]?.[cost] as Take['step'],
})

const kind = fc.tuple(fc.nat(quotas.length - 1), fc.nat(2))

/** A tick: how much later it is than the one before, and its calls, of one quota and cost for each key. */
const tick = fc.record({
  laterBy: fc.oneof(fc.nat(20_000_000), fc.integer({ min: -100_000_000, max: 100_000_000 })),
  kinds: fc.record({ a: kind, b: kind, c: kind }),
  keys: fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 20 }),
  // What changes the state of a key before: another verb or quota.
  before: fc.option(
    fc.tuple(
      fc.nat(quotas.length - 1),
      fc.constantFrom<Verb>('refund', 'charge', 'consume'),
      fc.integer({ min: 1, max: 40 }),
    ),
  ),
})

test('takes from any states as the model does, all calls of a tick in one batch', async () => {
  const store = redisStore(client, { denyCache: false })
  await fc.assert(
    fc.asyncProperty(fc.array(tick, { minLength: 1, maxLength: 8 }), async (ticks) => {
      await client.flushall()
      const model = modelStore(() => START)
      let at = START
      for (const { laterBy, kinds, keys, before } of ticks) {
        at += laterBy
        const calls = keys.map((key) => take(...kinds[key as 'a'], key))
        if (before !== null) {
          const [quota, verb, cost] = before
          const ops = [{ policy: 'p', key: 'a', step: stepFor(quotas[quota] as Quota, verb, cost) }]
          expect(await store.take(ops, at)).toEqual(model.takeSync(ops, at))
        }
        const results = await Promise.all(calls.map((op) => store.take([op], at)))
        expect(results).toEqual(calls.map((op) => model.takeSync([op], at)))
      }
    }),
    { numRuns: 400 },
  )
})

test.each([
  ['text', 'x'],
  ['a number with a fraction', `${START + 10_000_000}.5`],
  ['nan', 'nan'],
  ['an incomplete state', 'e\u0093'],
  ['an incomplete window', 'w:1:2'],
])('a value that is no state, %s, counts as none', async (_, value) => {
  await client.set('spillway:1{a}p', value)
  const store = redisStore(client, { denyCache: false })
  const model = modelStore(() => START)
  for (const cost of [1, 2, 2]) {
    const op = take(0, cost, 'a')
    expect(await store.take([op], START)).toEqual(model.takeSync([op], START))
  }
})

test('a bucket is full at its tick, not a part of a microsecond before', async () => {
  const store = redisStore(client, { denyCache: false })
  const model = modelStore(() => START)
  const op = take(1, 2, 'a')
  const [{ tat }] = model.takeSync([op], START) as readonly [BucketTaken]
  await store.take([op], START)
  expect(await store.take([op], tat)).toEqual(model.takeSync([op], tat))
  expect(await store.take([op], tat)).toEqual(model.takeSync([op], tat))
})

test('a state expires a minute after its bucket is full', async () => {
  const store = redisStore(client, { denyCache: false })
  await store.take([take(0, 2, 'a')])
  const leftMs = await client.pttl('spillway:1{a}p')
  expect(leftMs).toBeGreaterThan(60_000)
  expect(leftMs).toBeLessThanOrEqual(90_000)
})

test('a bucket starts with what a log has counted', async () => {
  const store: Store = redisStore(client, { denyCache: false })
  const model = modelStore(() => START)
  const log = { policy: 'p', key: 'a', step: stepFor(slidingLog({ limit: 10, window: '1m' }), 'consume', 1) }
  await store.take([log], START)
  model.takeSync([log], START)
  expect(await store.take([take(0, 0, 'a')], START)).toEqual(model.takeSync([take(0, 0, 'a')], START))
})

test('plain takes load no other script', async () => {
  await client.script('FLUSH')
  const store = redisStore(client, { denyCache: false })
  await Promise.all([take(0, 0, 'a'), take(1, 1, 'b'), take(0, 0, 'a')].map((op) => store.take([op])))
  expect(await client.script('EXISTS', bucketsScript.sha)).toEqual([1])
  expect(await client.info('memory')).toMatch(/number_of_cached_scripts:1\r/)
})
