import { START } from '@spillway/conformance'
import { type BucketTaken, rateLimiter, type Store, tokenBucket } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { redisStore } from '@spillway/redis'
import { Redis as Client } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Redis, startRedis } from '../services/redis.ts'
import { until } from '../services/redis-cluster.ts'
import { acquireLua, throttleLua } from './published/lua.ts'

// The scripts of seeds 2 and 4 as they were published, on the server they were written for, beside ours.

let server: Redis
let node: Redis
let client: Client
let ofCluster: Client
let store: Store
beforeAll(async () => {
  server = await startRedis()
  node = await startRedis({ settings: { 'cluster-enabled': 'yes' } })
  client = new Client({ port: server.port })
  ofCluster = new Client({ port: node.port })
  await ofCluster.call('CLUSTER', 'ADDSLOTS', ...Array.from({ length: 16_384 }, (_, slot) => slot))
  await until(async () => String(await ofCluster.call('CLUSTER', 'INFO')).includes('cluster_state:ok'))
})
beforeEach(async () => {
  await client.flushall()
  // Each test as if in a process of its own: in one, a name has one quota.
  store = { ...redisStore(client, { denyCache: false }), scope: { owner: {}, name: '' } }
})
afterAll(async () => {
  client.disconnect()
  ofCluster.disconnect()
  await Promise.all([server.stop(), node.stop()])
})

/** Asks ours for units at milliseconds of our choosing. */
const passes =
  (quota = tokenBucket({ limit: 10, per: '10s' })) =>
  async (ms: number, cost = 1): Promise<boolean> => {
    const op = { policy: 'p', key: 'alice', step: stepFor(quota, 'consume', cost) }
    return (await store.take([op], START + ms * 1000))[0]?.allowed === true
  }

/** How many of the calls pass that are made every `pause` milliseconds through `through`. */
async function passing(pause: number, through: number, call: (ms: number) => Promise<boolean>): Promise<number> {
  let passed = 0
  for (let ms = 0; ms <= through; ms += pause) if (await call(ms)) passed++
  return passed
}

describe('seed 2: ten in ten seconds', () => {
  const keys = ['rate-limiter:last-checked-ts', 'rate-limiter:tokens-count'] as const
  const theirs = async (ms: number): Promise<boolean> =>
    (await client.eval(throttleLua, 2, ...keys, 10, 10_000, START / 1000 + ms)) === null

  test('C1: twelve calls at one moment are ten, there and here', async () => {
    for (const call of [theirs, passes()]) {
      const outcomes: boolean[] = []
      for (let i = 0; i < 12; i++) outcomes.push(await call(0))
      expect(outcomes).toEqual([...Array(10).fill(true), false, false])
    }
  })

  test('C2: asked every half second for a minute it admits 121 of 121; here 70, the burst and the rate', async () => {
    expect(await passing(500, 60_000, theirs)).toBe(121)
    expect(await passing(500, 60_000, passes())).toBe(70)
  })

  test('C2: asked every 499 ms for twenty seconds it admits too few; here 29', async () => {
    expect(await passing(499, 20_000, theirs)).toBeLessThan(26)
    expect(await passing(499, 20_000, passes())).toBe(29)
  })

  test('C3: a caller five seconds behind takes six tokens and sets the clock back; here the clock is the server’s', async () => {
    await theirs(10_000)
    await theirs(5_000)
    expect(await client.mget(...keys)).toEqual([String(START / 1000 + 5_000), '3'])
    const { now } = Date
    const limiter = rateLimiter({ quota: tokenBucket({ limit: 10, per: '1d' }), store, deadline: '10s' })
    await limiter.consume('alice')
    Date.now = () => now() - 5_000
    expect((await limiter.consume('alice')).remaining).toBe(8)
    Date.now = now
  })

  test('C4: its two keys lie in two slots of a cluster; ours is one key, or one slot', async () => {
    await expect(ofCluster.eval(throttleLua, 2, ...keys, 10, 10_000, 0)).rejects.toThrow('CROSSSLOT')
    const quotas = { short: tokenBucket({ limit: 10, per: '10s' }), long: tokenBucket({ limit: 99, per: '1d' }) }
    const limiter = rateLimiter({ quotas, store: redisStore(ofCluster), deadline: '10s' })
    expect((await limiter.consume('alice')).allowed).toBe(true)
  })

  test('C5, C6: its keys never expire, and when one is lost every call fails; ours expires, and a lost one is full', async () => {
    await theirs(0)
    expect(await client.ttl(keys[1])).toBe(-1)
    await client.del(keys[1])
    await expect(theirs(1)).rejects.toThrow('a nil value')
    const limiter = rateLimiter({ quota: tokenBucket({ limit: 10, per: '10s' }), store, name: 'p', deadline: '10s' })
    const startMs = performance.now()
    await limiter.consume('alice', 10)
    expect((await client.pttl('spillway:1{alice}p')) + performance.now() - startMs).toBeGreaterThan(69_990)
    await client.del('spillway:1{alice}p')
    expect((await limiter.consume('alice')).remaining).toBe(9)
  })

  test('C7: it sends its whole text each time; ours is known to the server by its hash', async () => {
    const call = passes()
    await call(0)
    await client.config('RESETSTAT')
    for (let i = 0; i < 5; i++) await call(0)
    const stats = await client.info('commandstats')
    expect(stats).toContain('cmdstat_evalsha:calls=5')
    expect(stats).not.toContain('cmdstat_eval:')
  })
})

describe('seed 4: reservations', () => {
  /** What it answers: microseconds to wait, or that it would be so long, and nothing was reserved. */
  const acquire = (most: number, rate: number, wanted: number, maxWaitMicros: number | '' = 60e6): Promise<number> =>
    client.eval(acquireLua, 3, 'alice', most, rate, wanted, maxWaitMicros) as Promise<number>
  const limiterOf = (limit: number, per: `${number}s`, burst: number) =>
    rateLimiter({ quota: tokenBucket({ limit, per, burst }), store, name: 'p', deadline: '10s' })

  test('G1: its key is gone after ten seconds, and forty seconds of debt with it; ours stays until all is paid', async () => {
    await acquire(1, 0.1, 5)
    expect(await client.ttl('alice')).toBeLessThanOrEqual(10)
    await client.del('alice') // as the server does then
    expect(await acquire(1, 0.1, 5)).toBe(0)
    const limiter = limiterOf(1, '10s', 1)
    const startMs = performance.now()
    await limiter.charge('alice', 5)
    expect((await client.pttl('spillway:1{alice}p')) + performance.now() - startMs).toBeGreaterThan(109_990)
  })

  test('G2: its limits are keys, in other slots of a cluster', async () => {
    await expect(ofCluster.eval(acquireLua, 3, 'alice', 10, 1, 1, 0)).rejects.toThrow('CROSSSLOT')
  })

  test('G3: a number of microseconds is a yes or a no; ours says which, and the wait besides', async () => {
    await acquire(1, 1, 2)
    const [yes, no] = [await acquire(1, 1, 1, 5e6), await acquire(1, 1, 1, 500_000)]
    expect(yes).toBeGreaterThan(0)
    expect(no).toBeGreaterThan(0)
    // A thousand times as long: seconds pass on a busy machine.
    const limiter = limiterOf(1, '1000s', 1)
    await limiter.consume('alice')
    const patient = await limiter.reserve('alice', { maxWait: '5000s' })
    const hasty = await limiter.reserve('alice', { maxWait: '500s' })
    expect([patient.allowed, hasty.allowed]).toEqual([true, false])
    expect(patient.delayMs).toBeGreaterThan(900_000)
    expect(patient.delayMs).toBeLessThanOrEqual(1_000_000)
    expect(hasty.retryAfterMs).toBeGreaterThan(0)
    await patient.cancel()
    expect((await limiter.reserve('alice', { maxWait: '1000s' })).allowed).toBe(true)
  })

  test('G4: a thousand permits of a bucket of ten go now, and the next caller waits a quarter of an hour; here they never go', async () => {
    expect(await acquire(10, 1, 1_000)).toBe(0)
    expect(await acquire(10, 1, 1, 10e9)).toBeGreaterThan(900e6)
    expect(await limiterOf(10, '10s', 10).consume('alice', 1_000)).toMatchObject({
      allowed: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
  })

  test('G5: an absent maximum wait is an error there, and a rate of 0 makes a state of infinity; here it denies', async () => {
    await expect(acquire(10, 1, 1, '')).rejects.toThrow('attempt to compare nil with number')
    await acquire(10, 0, 1)
    expect(await client.hget('alice', 'next_free_ticket_micros')).toMatch(/inf|nan/)
    expect(await rateLimiter({ quota: tokenBucket({ limit: 0, per: '1s' }), store }).consume('bob')).toMatchObject({
      allowed: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
  })

  test('G6, G7: ours is three commands, and a new key is full on purpose', async () => {
    const [taken] = (await store.take([
      { policy: 'p', key: 'new', step: stepFor(tokenBucket({ limit: 10, per: '10s' }), 'consume', 1) },
    ])) as [BucketTaken]
    expect(taken.base).toBe(taken.now)
    await client.config('RESETSTAT')
    await passes()(0)
    const stats = await client.info('commandstats')
    const called = [...stats.matchAll(/cmdstat_(\S+?):calls/g)].map(([, name]) => name)
    expect(called.filter((name) => !/^(config|info)/.test(name as string)).sort()).toEqual(['evalsha', 'mget', 'set'])
  })
})
