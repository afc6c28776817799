import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { durableObjectStore } from '@spillway/cloudflare'
import { rateLimiter, remoteStore } from '@spillway/core/lean'
import * as forExpress from '@spillway/express/lean'
import * as forHono from '@spillway/hono/lean'
import * as forKoa from '@spillway/koa/lean'
import { perHour } from '@spillway/memory'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { buckets, createRedisStore, denyCache } from '@spillway/redis/lean'
import express from 'express'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import Koa from 'koa'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startPostgres } from './services/postgres.ts'
import { type Redis as Server, startRedis } from './services/redis.ts'

// Lean adapters and limiters on remote stores as they are, over real servers.

let server: Server
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis({ port: server.port, enableOfflineQueue: false, retryStrategy: () => null })
  await once(client, 'ready')
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const logger = { warn: () => {} }
const quota = perHour(3)
const leanStore = createRedisStore(buckets, denyCache)
let prefixes = 0
const prefix = () => `lean-remote-${++prefixes}`

type Options = Parameters<ReturnType<typeof forExpress.createRateLimit<[typeof forExpress.stores]>>>[0]
const frameworks: Readonly<Record<string, (options: Options) => RequestListener>> = {
  Express: (options) => {
    const app = express()
    app.use(forExpress.createRateLimit(forExpress.stores)(options))
    app.use((_, res) => void res.send('ok'))
    app.use(((_error, _req, res, _next) => void res.status(500).end()) as express.ErrorRequestHandler)
    return app
  },
  Koa: (options) => {
    const app = new Koa()
    app.silent = true
    app.use(forKoa.createRateLimit(forKoa.stores)(options as never))
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    return app.callback()
  },
  Hono: (options) => {
    const app = new Hono()
    app.onError((_, c) => c.text('', 500))
    app.use(forHono.createRateLimit(forHono.stores)({ key: () => 'ann', ...options } as never))
    app.all('*', (c) => c.text('ok'))
    return getRequestListener(app.fetch)
  },
}

/** Sends so many requests one after the other. Returns the status of each. */
async function statusesOf(listener: RequestListener, requests: number): Promise<readonly number[]> {
  const http = createServer(listener).listen(0, '127.0.0.1')
  await once(http, 'listening')
  const { port } = http.address() as AddressInfo
  const statuses: number[] = []
  for (let i = 0; i < requests; i++) statuses.push((await fetch(`http://127.0.0.1:${port}/`)).status)
  http.closeAllConnections()
  http.close()
  return statuses
}

/** A deadline that no busy machine misses, where the store answers. */
const LONG = '20s'

describe.each(Object.entries(frameworks))('%s, lean, with a lean Redis store', (_, build) => {
  test('allows, and denies what is above the quota', async () => {
    const store = leanStore(client, { prefix: prefix(), deadline: LONG, onStoreError: 'throw' })
    expect(await statusesOf(build({ quota, store, logger }), 5)).toEqual([200, 200, 200, 429, 429])
    const [name] = await client.keys(`lean-remote-${prefixes}*`)
    expect(name).toBeDefined()
  })

  test.each([
    ['local', [200, 200, 200, 429]],
    ['allow', [200, 200, 200, 200]],
    ['deny', [503, 503, 503, 503]],
    ['throw', [500, 500, 500, 500]],
  ] as const)(
    'whose server is down decides by onStoreError: %s, of the store or of the limiter',
    async (mode, expected) => {
      const own = await startRedis()
      const lost = new Redis({ port: own.port, enableOfflineQueue: false, retryStrategy: () => null })
      lost.on('error', () => {})
      await once(lost, 'ready')
      const closed = once(lost, 'end')
      await own.stop()
      await closed
      const ofStore = leanStore(lost, { prefix: prefix(), deadline: LONG, onStoreError: mode })
      expect(await statusesOf(build({ quota, store: ofStore, logger }), 4)).toEqual(expected)
      const store = leanStore(lost, { prefix: prefix(), deadline: LONG })
      expect(await statusesOf(build({ quota, store, onStoreError: mode, logger }), 4)).toEqual(expected)
    },
  )

  test('that does not answer by the deadline decides without it', async () => {
    const own = await startRedis()
    const silent = new Redis({ port: own.port })
    await once(silent, 'ready')
    own.signal('SIGSTOP')
    onTestFinished(async () => {
      own.signal('SIGCONT')
      silent.disconnect()
      await own.stop()
    })
    const store = leanStore(silent, { prefix: prefix(), deadline: '20ms', onStoreError: 'deny' })
    expect(await statusesOf(build({ quota, store, logger }), 2)).toEqual([503, 503])
  })
})

// Reproduces a bug: a lean limiter threw that the store answers late, and asked for remoteStore(store).
describe('a lean limiter takes a remote store as it is', () => {
  type Store = Parameters<typeof rateLimiter>[0]['store']

  async function allowedOf(store: Store): Promise<readonly boolean[]> {
    const limiter = rateLimiter({ quota, store, logger })
    const allowed: boolean[] = []
    for (let i = 0; i < 4; i++) allowed.push((await limiter.consume('ann')).allowed)
    return allowed
  }
  /** As the store decides, with a deadline that no busy machine misses. */
  const counted = (store: Store) => allowedOf(remoteStore(store, { deadline: LONG, onStoreError: 'throw' }))
  /** A client that never connects: only a failure mode decides. */
  const lost = () => new Redis({ lazyConnect: true, enableOfflineQueue: false })

  test.each<[string, (client: Redis) => Store]>([
    ['redisStore', (of) => redisStore(of, { prefix: prefix() })],
    ['redisStore with layers', (of) => redisStore(of, { prefix: prefix(), lease: 2, hashKeys: 'x'.repeat(20) })],
    ['a copy of redisStore', (of) => ({ ...redisStore(of, { prefix: prefix() }) })],
    ['a lean Redis store', (of) => leanStore(of, { prefix: prefix() })],
  ])('%s: what it cannot count is counted in this process', async (_, build) => {
    expect(await allowedOf(build(lost()))).toEqual([true, true, true, false])
    expect(await counted(build(client))).toEqual([true, true, true, false])
  })

  test.each([{}, { hashKeys: 'x'.repeat(20) }])('postgresStore: %o', async (options) => {
    const down = new pg.Pool({ host: '127.0.0.1', port: 1 })
    expect(await allowedOf(postgresStore(down, options))).toEqual([true, true, true, false])
    const postgres = await startPostgres()
    const pool = new pg.Pool(postgres.config)
    onTestFinished(async () => {
      await Promise.all([pool.end(), down.end()])
      await postgres.stop()
    })
    expect(await counted(postgresStore(pool, { ...options, deadline: LONG }))).toEqual([true, true, true, false])
  })

  test('durableObjectStore', async () => {
    const fail = () => Promise.reject(new Error('no object'))
    const stub = { take: fail, takeEach: fail, forget: fail, deleteAll: fail }
    const store = durableObjectStore({ idFromName: (name) => name, get: () => stub })
    expect(await allowedOf(store)).toEqual([true, true, true, false])
  })
})
