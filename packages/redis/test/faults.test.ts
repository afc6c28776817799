import { perDay, perHour, rateLimiter, StoreError, storeHealth } from '@spillway/core'
import { Redis as Ioredis } from 'ioredis'
import { createClient } from 'redis'
import { describe, expect, test } from 'vitest'
import { majorVersion, type Redis, startRedis } from '../../../test/services/redis.ts'
import { until } from '../../../test/services/redis-cluster.ts'
import { type RedisClient, redisStore } from '../src/index.ts'
import { admits, after, answers, expectBetween, limiterOf, serverTimer } from './servers.ts'

const clients: Readonly<Record<string, (port: number) => Promise<RedisClient>>> = {
  async ioredis(port) {
    const client = new Ioredis({ port, retryStrategy: () => 20 })
    client.on('error', () => {})
    after.push(() => client.disconnect())
    return client
  },
  async 'node-redis'(port) {
    const client = createClient({ socket: { port, reconnectStrategy: () => 20 } })
    client.on('error', () => {})
    await client.connect()
    after.push(() => client.destroy())
    return client
  },
}

async function serve(): Promise<Redis> {
  const server = await startRedis()
  after.push(() => server.stop())
  return server
}

/** Blocks the event loop. */
function standStill(millis: number): void {
  const start = performance.now()
  while (performance.now() - start < millis);
}

describe.each(Object.entries(clients))('%s', (_, connect) => {
  test('sends a script again that the server does not have, and counts nothing twice', async () => {
    const server = await serve()
    const client = await connect(server.port)
    const limiter = limiterOf(client)
    const admin = new Ioredis({ port: server.port })
    after.push(() => admin.disconnect())
    const timer = await serverTimer(server.port)
    expect(await admits(limiter, 40)).toBe(40)
    await admin.script('FLUSH')
    const rest = await admits(limiter, 100)
    expectBetween(rest, 60, 60 + (await timer.refilled()))
    await admin.flushall()
    const again = await admits(limiter, 120)
    expectBetween(again, 100, 100 + (await timer.refilled()))
  })

  test('a frozen server fails by the deadline, not later, and recovers when it continues', async () => {
    const server = await serve()
    const client = await connect(server.port)
    const [limiter, patient] = [limiterOf(client, { deadline: 50 }), limiterOf(client)]
    await patient.peek('a')
    server.signal('SIGSTOP')
    const start = performance.now()
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => limiter.consume('a')))
    // Far more than the 50 ms, for a busy machine. Without a deadline, a client would wait until the server continues.
    expect(performance.now() - start).toBeLessThan(5_000)
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { reason: 'timeout' } })
    }
    server.signal('SIGCONT')
    await answers(limiter)
    // Units that the server takes after the deadline are refunded: exactly the full quota is available again.
    await until(async () => (await patient.peek('a')).remaining === 100)
    const timer = await serverTimer(server.port)
    const admitted = await admits(patient, 120)
    expectBetween(admitted, 100, 100 + (await timer.refilled()))
  })

  // Reproduces a bug: timers run before sockets are read. When the app's event loop was blocked for 60 ms, five calls
  // failed and opened the circuit. Of a burst of 1,500 requests, none was counted.
  test.each([
    ['five in flight', 5, 0],
    ['a burst of 250', 250, 0.4],
    ['a burst of 1,500', 1_500, 0.1],
  ])('a process that stands still is no failure of the store: %s', async (_, times, eachMs) => {
    const server = await serve()
    const client = await connect(server.port)
    // One unit refills in 43 s.
    const quota = perDay(2_000)
    const store = redisStore(client, { denyCache: false })
    const limiter = rateLimiter({ quota, store, deadline: 50 })
    await rateLimiter({ quota, store, deadline: '10s', name: 'warm' }).consume('a')
    const calls = Array.from({ length: times }, () => {
      const call = limiter.consume('a')
      standStill(eachMs)
      return call
    })
    // Twenty times the deadline: the server has the same time for its reply, which a busy machine may need.
    standStill(1_000)
    const decisions = await Promise.all(calls)
    expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
    expect(storeHealth(store).circuit).toBe('closed')
    expect((await limiterOf(client, { quota, name: 'default' }).peek('a')).remaining).toBe(2_000 - times)
  })

  // Reproduces a bug: refunds used the circuit that the timeouts had opened, and 20 units were lost.
  test.each(['deny', 'local', 'throw'] as const)(
    'what a frozen server takes after the deadline is given back: %s',
    async (onStoreError) => {
      const server = await serve()
      const client = await connect(server.port)
      const [limiter, patient] = [limiterOf(client, { deadline: 50, onStoreError }), limiterOf(client)]
      await patient.peek('a')
      server.signal('SIGSTOP')
      await Promise.allSettled(Array.from({ length: 20 }, () => limiter.consume('a')))
      server.signal('SIGCONT')
      await answers(patient)
      await until(async () => (await patient.peek('a')).remaining === 100)
    },
  )

  test('a server that is killed and restarts empty admits at most one burst more', async () => {
    const server = await serve()
    const client = await connect(server.port)
    const [limiter, patient] = [limiterOf(client, { deadline: 200 }), limiterOf(client)]
    expect(await admits(patient, 120)).toBe(100)
    await server.kill()
    await expect(limiter.consume('a')).rejects.toThrow(StoreError)
    await server.start()
    await answers(limiter)
    // All states are lost: exactly one burst is allowed, plus what refills meanwhile. A call that was sent before the
    // server was killed may be sent again, and be counted then.
    await until(async () => (await patient.peek('a')).remaining === 100)
    const timer = await serverTimer(server.port)
    const admitted = await admits(patient, 120)
    expectBetween(admitted, 100, 100 + (await timer.refilled()))
  })

  test('a server that is read-only or full is an error that says so', async () => {
    const server = await serve()
    const limiter = limiterOf(await connect(server.port))
    const admin = new Ioredis({ port: server.port })
    after.push(() => admin.disconnect())
    await admin.replicaof('127.0.0.1', server.port)
    await expect(limiter.consume('a')).rejects.toThrow(/READONLY|MASTERDOWN/)
    await admin.call('REPLICAOF', 'NO', 'ONE')
    expect((await limiter.consume('a')).remaining).toBe(99)
    await admin.config('SET', 'maxmemory', '1')
    await expect(limiter.consume('a')).rejects.toThrow(/OOM/)
    await admin.config('SET', 'maxmemory', '0')
    expect((await limiter.consume('a')).remaining).toBe(98)
  })

  // Redis 6 cannot be told to answer while it loads so little.
  test.runIf(majorVersion() >= 7)(
    'a server that loads its data is an error that says so, and has all states afterwards',
    async () => {
      const slowly = { 'enable-debug-command': 'yes', 'loading-process-events-interval-bytes': 1_024 }
      const server = await startRedis({ settings: slowly })
      after.push(() => server.stop())
      const limiter = limiterOf(await connect(server.port))
      const timer = await serverTimer(server.port)
      expect((await limiter.consume('a', 40)).remaining).toBe(60)
      const admin = new Ioredis({ port: server.port })
      after.push(() => admin.disconnect())
      await admin.call('DEBUG', 'POPULATE', '400', 'filler', '1000')
      // Loading takes half a millisecond per key.
      await admin.config('SET', 'key-load-delay', '500')
      const reloaded = admin.call('DEBUG', 'RELOAD')
      await until(() =>
        limiter.peek('a').then(
          () => false,
          ({ message }) => message.includes('LOADING'),
        ),
      )
      await reloaded
      await answers(limiter)
      const { remaining } = await limiter.peek('a')
      expectBetween(remaining, 60, 60 + (await timer.refilled()))
    },
  )

  test('a limiter may be created before its server starts', async () => {
    const server = await serve()
    await server.kill()
    const client = new Ioredis({ port: server.port, retryStrategy: () => 20 })
    client.on('error', () => {})
    after.push(() => client.disconnect())
    const limiter = limiterOf(client, { deadline: 50 })
    await expect(limiter.consume('a')).rejects.toThrow(StoreError)
    await server.start()
    await answers(limiter)
    expect((await limiterOf(client).consume('b')).allowed).toBe(true)
  })
})

test('a client of node-redis that is not connected is reported with what to call', async () => {
  const limiter = rateLimiter({ quota: perHour(5), store: redisStore(createClient()), onStoreError: 'throw' })
  await expect(limiter.consume('ann')).rejects.toThrow(
    'Redis failed: The client is closed. Is it connected? Call await client.connect() first.',
  )
})
