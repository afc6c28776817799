import { perMinute, rateLimiter, storeHealth } from '@spillway/core'
import { type RedisClient, redisStore } from '@spillway/redis'
import { GlideClient } from '@valkey/valkey-glide'
import { Redis } from 'ioredis'
import { Redis as Iovalkey } from 'iovalkey'
import { createClient } from 'redis'
import { describe, expect, type TestContext, test } from 'vitest'
import { type Connected, redisClients } from './clients/redis.ts'
import { startProxy } from './services/proxy.ts'
import { startRedis } from './services/redis.ts'
import { until } from './services/redis-cluster.ts'

// A firewall or a load balancer that forgets a connection ends it without a packet. Clients kept such a connection for as long as
// they lived, so that every request was decided without the store, and the only warning said that it did not answer in time.
// These tests need real time: the timeouts are those of clients, and the breaker's probes.

type Connect = (port: number) => Promise<Connected<RedisClient>>

/** A limiter whose connection has just gone silent, and its warnings. */
async function silenced(connect: Connect, { onTestFinished }: TestContext) {
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  onTestFinished(() => server.stop())
  onTestFinished(() => proxy.stop())
  const { client, close } = await connect(proxy.port)
  onTestFinished(() => void close())
  const store = redisStore(client)
  const logged: string[] = []
  const logger = { warn: (message: string) => void logged.push(message) }
  const limiter = rateLimiter({ name: 'login', quota: perMinute(1_000), store, logger })
  const answers = (): Promise<boolean> => limiter.consume('ann').then(({ degraded }) => degraded === undefined)
  // With a longer deadline: connecting is no failure.
  await rateLimiter({ name: 'warm', quota: perMinute(1_000), store, deadline: '20s', onStoreError: 'throw' }).consume(
    'ann',
  )
  proxy.silence()
  return { answers, limiter, logged, store }
}

const REMEDIES: Readonly<Record<string, string>> = {
  ioredis: 'Give ioredis (5.6 or newer) or iovalkey `socketTimeout`.',
  iovalkey: 'Give ioredis (5.6 or newer) or iovalkey `socketTimeout`.',
  'node-redis':
    'Give node-redis (5.6 or newer) `socketTimeout` and, because it otherwise closes for good, a `reconnectStrategy`.',
  'Valkey GLIDE': 'Valkey GLIDE has the cause in its own log only. It leaves no silent connection: replace the client.',
}

const kept: readonly (readonly [name: string, remedy: string, connect: Connect])[] = [
  ...Object.entries(redisClients).flatMap(([name, versions]) =>
    Object.entries(versions).map(([version, connect]) => [version, REMEDIES[name] as string, connect] as const),
  ),
  [
    'ioredis with commandTimeout',
    REMEDIES.ioredis as string,
    async (port) => {
      const client = new Redis({ port, commandTimeout: 1_000 })
      return { client, close: () => client.disconnect() }
    },
  ],
  [
    'GLIDE with a short requestTimeout',
    REMEDIES['Valkey GLIDE'] as string,
    async (port) => {
      const client = await GlideClient.createClient({ addresses: [{ host: '127.0.0.1', port }], requestTimeout: 1_000 })
      return { client, close: () => client.close() }
    },
  ],
]

describe('a client that keeps a silent connection', () => {
  test.concurrent.for(kept)(
    '%s: the third failed probe warns of it once, with the remedy',
    async ([, remedy, connect], context) => {
      const { limiter, logged } = await silenced(connect, context)
      const named = (): number => logged.filter((message) => message.includes(remedy)).length
      await until(async () => {
        await limiter.consume('ann')
        return named() > 0
      })
      expect(named()).toBe(1)
    },
  )
})

/** With the options of docs/guides/failure.md, but shorter. */
const leaving: Readonly<Record<string, Connect>> = {
  async ioredis(port) {
    const client = new Redis({ port, socketTimeout: 1_000 })
    return { client, close: () => client.disconnect() }
  },
  async iovalkey(port) {
    const client = new Iovalkey({ port, socketTimeout: 1_000 })
    return { client, close: () => client.disconnect() }
  },
  async 'node-redis'(port) {
    const reconnectStrategy = (attempts: number): number => Math.min(2 ** attempts * 50, 2_000)
    const client = createClient({ socket: { port, socketTimeout: 1_000, reconnectStrategy }, pingInterval: 300 })
    await client.connect()
    return { client, close: () => client.destroy() }
  },
}

describe('a client that leaves a silent connection', () => {
  test.concurrent.for(Object.entries(leaving))('%s: the store answers again', async ([, connect], context) => {
    const { answers, limiter, logged, store } = await silenced(connect, context)
    await limiter.consume('ann')
    await until(answers)
    expect(storeHealth(store).circuit).toBe('closed')
    expect(logged.filter((message) => message.includes('silent'))).toEqual([])
  })

  test('node-redis without a reconnectStrategy: it closes for good, as its warning says', async (context) => {
    const { limiter, logged } = await silenced(async (port) => {
      const client = createClient({ socket: { port, socketTimeout: 1_000 } })
      await client.connect()
      return { client, close: () => {} }
    }, context)
    await until(async () => {
      await limiter.consume('ann')
      return logged.some((message) => message.includes('The client is closed'))
    })
  })
})
