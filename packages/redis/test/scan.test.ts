import { perDay, rateLimiter } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { GlideClient } from '@valkey/valkey-glide'
import { Redis as Ioredis } from 'ioredis'
import { createSentinel } from 'redis'
import { afterAll, expect, test } from 'vitest'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { startRedisSentinel } from '../../../test/services/redis-sentinel.ts'
import { type RedisClient, redisStore } from '../src/index.ts'
import { type Connected, clients } from './clients.ts'

// A cursor of SCAN is one of the server that returned it.

const closing: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

/** Several SCANs are needed to list as many states. */
const STATES = 3_500

const glide = async (ports: readonly number[], options: object = {}) => {
  const client = await GlideClient.createClient({
    addresses: ports.map((port) => ({ host: '127.0.0.1', port })),
    requestTimeout: 20_000,
    advancedConfiguration: { connectionTimeout: 20_000 },
    ...options,
  })
  closing.push(() => client.close())
  return client as RedisClient
}

/** Writes the states, and waits until replicas have them. */
async function fill(server: Redis, replicas = 0): Promise<void> {
  const client = new Ioredis({ port: server.port })
  closing.push(() => client.disconnect())
  await client.eval(`for i = 1, ${STATES} do redis.call('SET', 'spillway:1{user-' .. i .. '}', '1') end`, 0)
  await client.wait(replicas, 0)
}

const counted = async (client: RedisClient) => {
  const limiter = rateLimiter({ quota: perDay(10), store: redisStore(client), deadline: '10s' })
  const { scanned, isComplete } = await limiter.list({ timeout: '30s' })
  return [scanned, isComplete, await limiter.resetAll()]
}

// Reproduces a bug: each SCAN went to the next replica. Of 20,000 states, 1,000 were deleted, and no error reported it.
test('GLIDE that reads from replicas lists and deletes all states', async () => {
  const servers = await startRedisSentinel({ replicas: 2 })
  closing.push(() => servers.stop())
  await fill(servers.master, 2)
  const ports = [servers.master, servers.replica, ...servers.others].map(({ port }) => port)
  expect(await counted(await glide(ports, { readFrom: 'preferReplica' }))).toEqual([STATES, true, STATES])
})

// Reproduces a bug: of 20,000 states, 4,982 were left.
test('a Sentinel of node-redis that reads from replicas lists and deletes all states', async () => {
  const servers = await startRedisSentinel({ replicas: 2 })
  closing.push(() => servers.stop())
  await fill(servers.master, 2)
  const client = await createSentinel({
    name: servers.name,
    sentinelRootNodes: [{ host: '127.0.0.1', port: servers.sentinel.port }],
    replicaPoolSize: 1,
  }).connect()
  closing.push(() => client.destroy())
  expect(await counted(client as unknown as RedisClient)).toEqual([STATES, true, STATES])
})

const all: typeof clients = {
  ...clients,
  GLIDE: async (port): Promise<Connected> => {
    const client = await glide([port])
    return { client, command: () => Promise.resolve(), close: () => {} }
  },
}

// Reproduces a bug: the cursor of a server that was restarted went on with keys in another order. 4,977 states of 20,000
// were left, and no error reported it.
test.each(Object.entries(all))('a restart during a scan rejects it: %s', async (_, connect) => {
  const server = await startRedis()
  closing.push(() => server.stop())
  await fill(server)
  const connected = await connect(server.port)
  closing.push(() => connected.close())
  const { client } = connected
  ;(client as { on?: (event: 'error', ignored: () => void) => void }).on?.('error', () => {})
  const store = redisStore(client)
  const chunks = store.list?.('default', stepFor(perDay(10), 'consume', 1)) as AsyncGenerator<unknown>
  await chunks.next()
  await server.kill()
  await server.start()
  await fill(server)
  const rest = async () => {
    for await (const _ of chunks);
  }
  await expect(rest()).rejects.toThrow('the server was restarted, or another one promoted, during the scan.')
})

// Reproduces a bug: the methods of such a client were found by `in`, which a proxy denies, where it lists keys.
test.each(Object.entries(all))('a client behind a proxy lists and deletes: %s', async (_, connect) => {
  const server = await startRedis()
  closing.push(() => server.stop())
  await fill(server)
  const connected = await connect(server.port)
  closing.push(() => connected.close())
  const real = connected.client as unknown as Record<string, unknown>
  const client = new Proxy({} as RedisClient, {
    get: (_, name: string) => {
      const value = real[name]
      return typeof value === 'function' ? value.bind(real) : value
    },
  })
  expect(await counted(client)).toEqual([STATES, true, STATES])
})
