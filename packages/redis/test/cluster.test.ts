import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { START, testStore } from '@spillway/conformance'
import { consumeAll, type Decision, perDay, QuotaError, rateLimiter, type StoreError } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { GlideClusterClient } from '@valkey/valkey-glide'
import { Cluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { majorVersion } from '../../../test/services/redis.ts'
import { type RedisCluster, startRedisCluster } from '../../../test/services/redis-cluster.ts'
import { functionLua, type RedisClient, redisStore } from '../src/index.ts'
import { namerOf } from '../src/name.ts'

// At most one unit refills in a quarter of an hour, so that no test sees a refill.

setFlagsFromString('--expose-gc')

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startRedisCluster()
})
beforeEach(() => cluster.flush())
afterAll(() => cluster.stop())

const clients = {
  async ioredis() {
    const client = new Cluster(
      cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
      { retryDelayOnFailover: 20, retryDelayOnClusterDown: 20 },
    )
    return { client: client as RedisClient, close: () => client.disconnect() }
  },
  async 'node-redis'() {
    const client = createCluster({ rootNodes: cluster.nodes.map(({ port }) => ({ socket: { port } })) })
    await client.connect()
    return { client: client as RedisClient, close: () => client.destroy() }
  },
  async GLIDE() {
    const addresses = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
    // Its 2 s to connect were not enough for nodes that had just started.
    const timeouts = { requestTimeout: 20_000, advancedConfiguration: { connectionTimeout: 20_000 } }
    const client = await GlideClusterClient.createClient({ addresses, ...timeouts })
    return { client: client as RedisClient, close: () => client.close() }
  },
}

// Reproduces a bug: GLIDE drops a scan's state with the object of its cursor, of which only the text was kept. A
// garbage collection between two commands failed resetAll with "Invalid scan_state_cursor id".
test('GLIDE scans a cluster to the end while memory is collected', async () => {
  const { client, close } = await clients.GLIDE()
  const collect: () => void = runInNewContext('gc')
  const cluster = client as GlideClusterClient
  const scan = cluster.scan.bind(cluster)
  cluster.scan = async (...args) => {
    collect()
    await setImmediate()
    return scan(...args)
  }
  const limiter = rateLimiter({ quota: perDay(10), store: redisStore(client), deadline: '10s' })
  await Promise.all(Array.from({ length: 30 }, (_, i) => limiter.consume(`collected-${i}`)))
  expect(await limiter.resetAll()).toBe(30)
  close()
})

test('a client for one server fails with an error that says to pass one for clusters', async () => {
  const client = new Redis({ port: cluster.nodes[0]?.port as number })
  const store = redisStore(client)
  const ops = ['a', 'b', 'c'].map((key) => ({ policy: 'p', key, step: stepFor(perDay(1), 'consume', 1) }))
  const answers = await Promise.allSettled([store.take(ops), ...ops.map((op) => redisStore(client).take([op]))])
  const messages = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.message] : []))
  expect(messages.map((message) => /(CROSSSLOT|MOVED) .* Pass a client for clusters/.exec(message)?.[1])).toEqual(
    expect.arrayContaining(['CROSSSLOT', 'MOVED']),
  )
  client.disconnect()
})

describe.each(Object.entries(clients))('%s', (name, connect) => {
  let connected: Awaited<ReturnType<typeof connect>>
  beforeAll(async () => {
    connected = await connect()
  })
  afterAll(() => connected.close())

  let stores = 0
  // One hash slot, because the suite's batches use several keys. Stores of one client and prefix share a deny cache.
  testStore(
    test,
    async () => {
      await cluster.flush()
      return redisStore(connected.client, { prefix: `{suite}${++stores}` })
    },
    { histories: 10 },
  )

  test('sends the keys of one tick to their hash slots, and returns a result for each', async () => {
    const limiter = rateLimiter({ quota: perDay(10), store: redisStore(connected.client), deadline: '10s' })
    const keys = Array.from({ length: 600 }, (_, i) => `user-${i % 50}`)
    const decisions = await Promise.all(keys.map((key) => limiter.consume(key)))
    expect(decisions.map(({ allowed }) => allowed)).toEqual(keys.map((_, i) => i < 500))
  })

  test('checks several policies of one key all-or-nothing', async () => {
    const quotas = { first: perDay(3), other: perDay(5) }
    const limiter = rateLimiter({ quotas, store: redisStore(connected.client), deadline: '10s' })
    const decisions = await Promise.all(Array.from({ length: 10 }, () => limiter.consume('a')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3)
    expect((await limiter.peek('a')).policies?.map(({ remaining }) => remaining)).toEqual([0, 2])
  })

  test('takes keys in different hash slots one after the other, and rolls back if a later one is denied', async () => {
    const limiter = rateLimiter({
      name: 'in turn',
      quota: perDay(3),
      store: redisStore(connected.client),
      deadline: '10s',
    })
    const both = () =>
      consumeAll([
        [limiter, 'alice'],
        [limiter, 'bob'],
      ])
    expect((await both()).allowed).toBe(true)
    await limiter.consume('bob', 2)
    expect((await both()).allowed).toBe(false)
    expect([(await limiter.peek('alice')).remaining, (await limiter.peek('bob')).remaining]).toEqual([2, 0])
  })

  test('rejects a batch of several hash slots with the reason, and takes nothing', async () => {
    const store = redisStore(connected.client)
    const ops = ['alice', 'bob'].map((key) => ({ policy: 'p', key, step: stepFor(perDay(1), 'consume', 1) }))
    await expect(store.take(ops)).rejects.toThrow(QuotaError)
    await expect(store.take(ops)).rejects.toThrow(
      'keys "alice" and "bob" are in different hash slots of the Redis Cluster',
    )
    for (const op of ops) expect((await store.take([op]))[0]?.allowed).toBe(true)
  })

  test('deletes keys of several hash slots', async () => {
    const store = redisStore(connected.client)
    const ops = ['a', 'b', 'c'].map((key) => ({ policy: 'p', key, step: stepFor(perDay(1), 'consume', 1) }))
    for (const op of ops) await store.take([op], START)
    await store.delete(ops)
    for (const op of ops) expect((await store.take([op], START))[0]?.allowed).toBe(true)
  })

  test('resetAll deletes keys on every master', async () => {
    const limiter = rateLimiter({ quota: perDay(10), store: redisStore(connected.client), deadline: '10s' })
    const keys = Array.from({ length: 300 }, (_, i) => `reset-${i}`)
    await Promise.all(keys.map((key) => limiter.consume(key, 10)))
    expect([await limiter.resetAll(), await limiter.resetAll()]).toEqual([300, 0])
    const decisions = await Promise.all(keys.map((key) => limiter.consume(key, 10)))
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
  })

  // Reproduces a bug: node-redis does not retry, as ioredis does. 10 of 10 calls failed with TRYAGAIN, and the circuit
  // opened for all keys.
  test('retries two policies of a key in a half moved hash slot until the deadline', async () => {
    const store = redisStore(connected.client, { denyCache: false })
    const quotas = { moving: perDay(100), beside: perDay(1_000) }
    const limiter = rateLimiter({ quotas, store, deadline: '10s', onStoreError: 'throw' })
    // ioredis and GLIDE retry on their own, after this deadline: five timeouts would open the node's circuit. With
    // node-redis the node must answer once within it, on a busy machine, too.
    const [times, reason, deadline] = name === 'node-redis' ? [10, 'error', 5_000] : [4, 'timeout', 60]
    const hurried = rateLimiter({ quotas, store, deadline, onStoreError: 'throw' })
    const other = rateLimiter({ quota: perDay(10), store, deadline: '10s', name: 'another' })
    await limiter.consume('half')
    let waiting: Promise<readonly Decision[]> | undefined
    await cluster.move('spillway:1{half}moving', async () => {
      const calls = Array.from({ length: times }, () =>
        hurried.consume('half').catch((error: StoreError) => error.reason),
      )
      expect(await Promise.all(calls)).toEqual(Array(times).fill(reason))
      waiting = Promise.all(Array.from({ length: 10 }, () => limiter.consume('half')))
      expect((await other.consume('b')).degraded).toBeUndefined()
    })
    expect((await waiting)?.every(({ allowed }) => allowed)).toBe(true)
    // Late takes of the calls that timed out are refunded when they are answered.
    await vi.waitFor(async () => expect((await limiter.peek('half')).policies?.[1]?.remaining).toBe(989), {
      timeout: 20_000,
      interval: 20,
    })
  })

  test('neither loses nor doubles units when a hash slot moves to another node under traffic', async () => {
    const store = redisStore(connected.client, { denyCache: false })
    const limiter = rateLimiter({ quota: perDay(100), store, deadline: '10s', name: 'p' })
    let moved = false
    const traffic = async (): Promise<number> => {
      let admitted = 0
      // Until the hash slot has moved, and for a few requests after.
      for (let after = 0; after < 20; after += moved ? 1 : 0) if ((await limiter.consume('hot')).allowed) admitted++
      return admitted
    }
    const admitted = [traffic(), traffic(), traffic()]
    await cluster.move('spillway:1{hot}p')
    moved = true
    const start = (await Promise.all(admitted)).reduce((sum, each) => sum + each, 0)
    // Fewer than 100 means lost units, more than 100 means units that were taken twice.
    const { remaining } = await limiter.peek('hot')
    expect(start + remaining).toBe(100)
  })
})

test.runIf(majorVersion() >= 7)('spillway_consume shares its quota with a limiter in every hash slot', async () => {
  const client = new Cluster(cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })))
  await client.ping()
  await Promise.all(client.nodes('master').map((node) => node.call('FUNCTION', 'LOAD', 'REPLACE', functionLua)))
  const limiter = rateLimiter({ quota: perDay(10), store: redisStore(client, { denyCache: false }), deadline: '25s' })
  for (let i = 0; i < 20; i++) {
    const key = `user-${i}`
    expect(await limiter.consume(key, 4)).toMatchObject({ remaining: 6 })
    const name = namerOf('spillway')({ policy: 'default', key })
    expect(await client.call('FCALL', 'spillway_consume', 1, name, 10, '1d', 10, 5)).toMatchObject({ 0: 1, 1: 1 })
  }
  client.disconnect()
})
