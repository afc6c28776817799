import { consumeAll, perHour, type RateLimiter, rateLimiter, type Store, StoreError, storeHealth } from '@spillway/core'
import { Redis as Ioredis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startProxy, type TcpProxy } from '../../../test/services/proxy.ts'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { until } from '../../../test/services/redis-cluster.ts'
import { type RedisClient, redisStore } from '../src/index.ts'

// Timeouts need a real clock: a proxy delays the replies, while the server runs each command at once. Units that were
// taken for a failed call are refunded, for every verb.

const clients: Readonly<Record<string, (port: number) => Promise<{ client: RedisClient; close: () => void }>>> = {
  async ioredis(port) {
    const client = new Ioredis({ port }).on('error', () => {})
    await client.ping()
    return { client, close: () => client.disconnect() }
  },
  async 'node-redis'(port) {
    const client = createClient({ socket: { port } }).on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  },
}

let server: Redis
let direct: Ioredis
beforeAll(async () => {
  server = await startRedis()
  direct = new Ioredis({ port: server.port })
})
afterAll(async () => {
  direct.disconnect()
  await server.stop()
})
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())

const limiterOn = (store: Store, deadline: number | '20s', name = 'p'): RateLimiter =>
  rateLimiter({ name, quota: perHour(100), store, deadline, onStoreError: 'throw' })

describe.each(
  Object.entries(clients).flatMap(([name, connect]) =>
    [true, false].map((coalesce) => [name, coalesce, connect] as const),
  ),
)('%s, coalesce %s', (_, coalesce, connect) => {
  let proxy: TcpProxy
  let store: Store
  let close: () => void
  let patient: RateLimiter
  const left = async (key = 'a'): Promise<number> => (await patient.peek(key)).remaining
  beforeEach(async () => {
    await direct.flushall()
    proxy = await startProxy(server.port)
    const connected = await connect(proxy.port)
    close = connected.close
    store = redisStore(connected.client, { denyCache: false, coalesce })
    patient = limiterOn(redisStore(direct, { denyCache: false }), '20s')
    await limiterOn(store, '20s').consume('a', 40)
    proxy.set('held')
  })
  afterEach(async () => {
    close()
    await proxy.stop()
  })

  const late = { name: 'StoreError', reason: 'timeout' }
  const verbs: readonly [verb: string, call: (limiter: RateLimiter) => Promise<unknown>, taken: number][] = [
    ['consume', (limiter) => limiter.consume('a', 7), 7],
    ['consumeUpTo', (limiter) => limiter.consumeUpTo('a', 80), 60],
    ['charge', (limiter) => limiter.charge('a', 80), 60],
    ['reserve', (limiter) => limiter.reserve('a', { cost: 7 }), 7],
    ['wait', (limiter) => limiter.wait('a', { cost: 7 }), 7],
    [
      'consumeAll',
      (limiter) =>
        consumeAll([
          [limiter, 'a', 7],
          [limiter, 'b', 1],
        ]),
      7,
    ],
  ]
  test.each(verbs)('%s: refunds units if the server answers after the deadline', async (_verb, call, taken) => {
    await expect(call(limiterOn(store, 50))).rejects.toMatchObject(late)
    // The server takes the units, and the proxy delays its reply.
    await until(async () => (await left()) === 60 - taken)
    proxy.set('fair')
    await until(async () => (await left()) === 60)
    await until(async () => (await left('b')) === 100)
    expect(storeHealth(store)).toMatchObject({ refundsQueued: 0, refundsDropped: 0 })
  })

  test('consumeAll: also refunds units that were taken before the timeout', async () => {
    const near = limiterOn(redisStore(direct, { prefix: 'near', denyCache: false }), '20s', 'near')
    const both = consumeAll([
      [near, 'a', 3],
      [limiterOn(store, 50), 'a', 7],
    ])
    await expect(both).rejects.toMatchObject(late)
    await until(async () => (await left()) === 53)
    proxy.set('fair')
    await until(async () => (await left()) === 60 && (await near.peek('a')).remaining === 100)
  })

  test('five timeouts or more: the refunds do not use the circuit that the timeouts have opened', async () => {
    const limiter = limiterOn(store, 50)
    const calls = await Promise.allSettled(Array.from({ length: 10 }, () => limiter.consume('a', 2)))
    expect(calls.map((each) => each.status === 'rejected' && each.reason instanceof StoreError)).toEqual(
      Array(10).fill(true),
    )
    // Half-open, if the calls took longer than it is open at first.
    expect(storeHealth(store).circuit).not.toBe('closed')
    await until(async () => (await left()) === 40)
    proxy.set('fair')
    await until(async () => (await left()) === 60)
  })

  // These verbs take effect although the call failed, as the guide says.
  test.each<[string, (limiter: RateLimiter) => Promise<unknown>, number]>([
    ['peek', (limiter) => limiter.peek('a'), 60],
    ['refund', (limiter) => limiter.refund('a', 30), 90],
    ['reset', (limiter) => limiter.reset('a'), 100],
  ])('%s: what was reported as failed is not undone', async (_verb, call, after) => {
    await expect(call(limiterOn(store, 50))).rejects.toMatchObject(late)
    await until(async () => (await left()) === after)
    proxy.set('fair')
    // Replies arrive in order: the late one has arrived.
    await limiterOn(store, '20s', 'other').peek('a')
    expect(await left()).toBe(after)
  })

  test('a cancelled reservation is refunded once if the reply to its refund is late', async () => {
    proxy.set('fair')
    // Long enough for a busy machine. The cancellation uses the same timeout.
    const reservation = await limiterOn(store, 2_000).reserve('a', { cost: 20 })
    proxy.set('held')
    await expect(reservation.cancel()).rejects.toMatchObject(late)
    await until(async () => (await left()) === 60)
    proxy.set('fair')
    await limiterOn(store, '20s', 'other').peek('a')
    expect([await left(), storeHealth(store)]).toMatchObject([60, { refundsQueued: 0, refundsDropped: 0 }])
  })
})
