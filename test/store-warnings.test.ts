import { createServer } from 'node:net'
import { perMinute, rateLimiter, type Store } from '@spillway/core'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Cluster, Redis } from 'ioredis'
import { Pool } from 'pg'
import { createClient, createClientPool, createCluster } from 'redis'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { redisClients } from './clients/redis.ts'
import { startRedis } from './services/redis.ts'

// A client that reconnects lets its commands wait: the warning had the deadline, and neither the cause, nor the limiter,
// nor the store. In an app of ten limiters and two stores it did not say what to look at.

const warnings = (store: Store) => {
  const logged: string[] = []
  const logger = { warn: (message: string) => void logged.push(message) }
  return { logged, limiter: rateLimiter({ name: 'login', quota: perMinute(1_000), store, logger }) }
}

/** The warnings until one has the cause. */
async function warningsOf(store: Store, cause: string): Promise<readonly string[]> {
  const { logged, limiter } = warnings(store)
  await vi.waitFor(
    async () => {
      await limiter.consume('ann')
      expect(logged.at(-1)).toContain(cause)
    },
    { timeout: 15_000 },
  )
  return logged
}

/** A port of the loopback on which nothing listens. */
async function unusedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Prints of ioredis, which it makes of errors that nothing listens to. */
const printed = () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => error.mockRestore())
  return error
}

const versions = Object.values(redisClients).flatMap((each) => Object.entries(each))

/** GLIDE has no events: it fails the call that was under way, and lets those after it wait. */
const CAUSE = /ECONNREFUSED|ECONNRESET|EPIPE|closed|Valkey GLIDE has the cause in its own log/

describe.each(versions)('%s', (_, connect) => {
  test('whose server has died: the warning names the limiter, the store and the cause', async () => {
    const error = printed()
    const server = await startRedis()
    closing.push(() => server.stop())
    const { client, close } = await connect(server.port)
    closing.push(close)
    const { limiter, logged } = warnings(redisStore(client, { prefix: 'shop' }))
    await limiter.consume('ann')
    await server.kill()
    await vi.waitFor(
      async () => {
        await limiter.consume('ann')
        expect(logged.at(-1)).toMatch(CAUSE)
      },
      { timeout: 15_000 },
    )
    for (const each of logged) expect(each).toContain('the store failed (Redis shop, limiter "login"')
    // At most one without the cause, and then one with it.
    expect(logged.length).toBeLessThanOrEqual(2)
    expect(error).not.toHaveBeenCalled()
  })
})

type Down = (port: number) => readonly [store: Store, close: () => unknown]

const down: Readonly<Record<string, Down>> = {
  ioredis: (port) => {
    const client = new Redis(port)
    return [redisStore(client, { prefix: 'shop', lease: 10 }), () => client.disconnect()]
  },
  'a cluster of ioredis': (port) => {
    const client = new Cluster([{ host: '127.0.0.1', port }])
    return [redisStore(client, { prefix: 'shop' }), () => client.disconnect()]
  },
  'node-redis': (port) => {
    const client = createClient({ socket: { port } })
    const store = redisStore(client, { prefix: 'shop' })
    client.connect().catch(() => {})
    return [store, () => client.destroy()]
  },
  'a pool of node-redis': (port) => {
    const client = createClientPool({ socket: { port } })
    const store = redisStore(client, { prefix: 'shop' })
    client.connect().catch(() => {})
    return [store, () => client.destroy()]
  },
  'a cluster of node-redis': (port) => {
    const client = createCluster({ rootNodes: [{ socket: { port } }] })
    const store = redisStore(client, { prefix: 'shop' })
    client.connect().catch(() => {})
    return [store, () => {}]
  },
  pg: (port) => [postgresStore(new Pool({ host: '127.0.0.1', port }), { table: 'shop' }), () => {}],
  'pg by name': (port) => [postgresStore(new Pool({ host: 'localhost', port }), { table: 'shop' }), () => {}],
}

test.each(Object.keys(down))('%s that has never reached its server: the warning has the cause', async (name) => {
  const error = printed()
  const [store, close] = (down[name] as Down)(await unusedPort())
  closing.push(close)
  // A cluster hides the errors of its nodes' sockets.
  const ofCluster = name.includes('node-redis') ? 'Is it connected?' : 'Connection is closed'
  const cause = name.startsWith('a cluster') ? ofCluster : 'ECONNREFUSED'
  const logged = await warningsOf(store, cause)
  const kind = name.startsWith('pg') ? 'PostgreSQL "public"."shop"' : 'Redis shop'
  for (const each of logged) expect(each).toContain(`the store failed (${kind}, limiter "login"`)
  const throwing = rateLimiter({ name: 'login', quota: perMinute(1_000), store, onStoreError: 'throw' })
  // The circuit may be open meanwhile: its error has the last one as its cause.
  const thrown = await throwing.consume('ann').catch((failure: Error) => `${failure.message} ${failure.cause}`)
  expect(thrown).toContain(cause)
  expect(error).not.toHaveBeenCalled()
})

test('a late error of a store explains the next call that is not answered', async () => {
  let fail = (_: Error): void => {}
  const take = () => new Promise<never>((_, reject) => (fail = reject))
  const { logged, limiter } = warnings({ take, delete: async () => 0 })
  await limiter.consume('ann')
  fail(new Error('the tunnel is down'))
  await limiter.consume('ann')
  expect(logged).toEqual([
    expect.stringContaining('the store failed (limiter "login"): The store did not answer within 50 ms. '),
    expect.stringContaining('within 50 ms; the last error of its connection: the tunnel is down. '),
  ])
})

test('an error without a message is that of its first address', async () => {
  const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:6379'), new Error('other')], '')
  const { logged, limiter } = warnings({ take: () => Promise.reject(refused), delete: async () => 0 })
  await limiter.consume('ann')
  expect(logged).toEqual([expect.stringContaining('The store failed: connect ECONNREFUSED ::1:6379.')])
})
