import { AsyncLocalStorage } from 'node:async_hooks'
import { Agent, createServer, get, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import * as forExpress from '@spillway/express'
import { leakyBucket, memoryStore, perMinute, settled } from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forH3 from '@spillway/h3'
import * as forH31 from '@spillway/h3/v1'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import { migrate, postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import express from 'express'
import { fastify } from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { createApp, eventHandler, toNodeListener } from 'h3-1'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import Koa from 'koa'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from './services/postgres.ts'
import { startRedis } from './services/redis.ts'

// Reproduces: of requests whose responses were ended together, or whose calls of a store were sent together, functions of the
// options had the AsyncLocalStorage of one (`t1 t1 t1 t1`), or none.

const REQUESTS = 4

type Options = forExpress.RateLimitOptions & forFastify.RateLimitOptions & forKoa.RateLimitOptions
/** Waits until all requests have come in: the last one ends them all. */
type Together = () => Promise<void>
/** Calls what follows in the context of a request, as a middleware of the app does. */
type Enter = <T>(url: string | undefined, next: () => T) => T

const apps: Readonly<
  Record<string, (options: Options, together: Together, enter: Enter) => RequestListener | Promise<RequestListener>>
> = {
  Node: (options, together, enter) => {
    const limit = forNode.rateLimit(options as never)
    return (request, response) =>
      enter(request.url, () => limit(request, response, () => void together().then(() => response.end('ok'))))
  },
  Express: (options, together, enter) => {
    const app = express()
    app.use(({ url }, _, next) => enter(url, next))
    app.use(forExpress.rateLimit(options), (_, res) => void together().then(() => res.end('ok')))
    return app
  },
  Koa: (options, together, enter) => {
    const app = new Koa()
    app.use(({ url }, next) => enter(url, next))
    app.use(forKoa.rateLimit(options))
    app.use(async (ctx) => {
      await together()
      ctx.body = 'ok'
    })
    return app.callback()
  },
  Fastify: async (options, together, enter) => {
    const app = fastify()
    app.addHook('onRequest', ({ url }, _, done) => enter(url, done))
    await app.register(forFastify.rateLimit(options))
    app.get('/', (_, reply) => void together().then(() => reply.send('ok')))
    await app.ready()
    return app.routing
  },
  Hono: (options, together, enter) => {
    const app = new Hono()
    app.use(({ req }, next) => enter(req.url, next))
    app.use(forHono.rateLimit(options as unknown as forHono.RateLimitOptions))
    app.get('/', async (c) => {
      await together()
      return c.text('ok')
    })
    return getRequestListener(app.fetch, { overrideGlobalObjects: false })
  },
  h3: (options, together, enter) => {
    const app = new H3()
    app.use(({ req }, next) => enter(req.url, next))
    app.use(forH3.rateLimit(options as unknown as forH3.RateLimitOptions))
    app.get('/', () => together().then(() => 'ok'))
    return toNodeHandler(app) as RequestListener
  },
  'h3 1': (options, together, enter) => {
    const app = createApp()
    app.use(forH31.rateLimit(options as unknown as forH31.RateLimitOptions))
    const listener = toNodeListener(app.use(eventHandler(() => together().then(() => 'ok'))))
    return (request, response) => enter(request.url, () => listener(request, response))
  },
}

/** Ends what waits in one go, in the context of the last. The promises of a batch are thenables, as of a database's driver. */
function batch(): Together {
  const waiting: (() => void)[] = []
  return () =>
    ({
      // biome-ignore lint/suspicious/noThenProperty: calls back in whatever context the batch ends
      then: (end: () => void) => {
        waiting.push(end)
        if (waiting.length === REQUESTS) for (const each of waiting.splice(0)) each()
      },
    }) as unknown as Promise<void>
}

/** The contexts in which functions were called, of requests that arrive together on one connection each. */
async function contextsOf(app: string, options: object) {
  const contexts = new AsyncLocalStorage<string>()
  const seen: Record<string, string[]> = {}
  const see =
    <T>(name: string, returned: T) =>
    (): T => {
      seen[name] ??= []
      seen[name].push(contexts.getStore() ?? 'none')
      return returned
    }
  const listener = await apps[app]?.(
    {
      quota: perMinute(1),
      key: () => contexts.getStore() ?? 'none',
      refundIf: see('refundIf', false),
      countIf: see('countIf', true),
      settle: see('settle', 1),
      onDecision: see('onDecision', undefined),
      onThreshold: see('onThreshold', undefined),
      onDenied: see('onDenied', undefined),
      deadline: '20s',
      ...options,
    } as unknown as Options,
    batch(),
    (url, next) => contexts.run(url?.split('?')[1] ?? 'no name', next),
  )
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const { port } = server.address() as AddressInfo
  const send = (name: string): Promise<unknown> =>
    new Promise((resolve) => {
      get({ port, host: '127.0.0.1', agent, path: `/?${name}` }, (response) => response.resume().on('end', resolve))
    })
  const names = Array.from({ length: REQUESTS }, (_, i) => `t${i + 1}`)
  await Promise.all(names.map(send))
  await settled()
  // All are denied now.
  await Promise.all(names.map(send))
  await settled()
  for (const each of Object.values(seen)) each.sort()
  return { seen, names }
}

async function expectOwn(app: string, options: object): Promise<void> {
  const { seen, names } = await contextsOf(app, options)
  const twice = names.flatMap((name) => [name, name])
  expect(seen).toEqual({
    onDecision: twice,
    onThreshold: twice,
    onDenied: names,
    refundIf: names,
    countIf: names,
    settle: names,
  })
}

test.each(Object.keys(apps))('responses of %s that end together', (app) => expectOwn(app, { store: memoryStore() }))

test('calls that are sent to Redis together', async () => {
  const server = await startRedis()
  const redis = new Redis(server.port)
  onTestFinished(async () => {
    redis.disconnect()
    await server.stop()
  })
  await expectOwn('Express', { store: redisStore(redis) })
})

test('calls that are sent to PostgreSQL together', async () => {
  const server = await startPostgres()
  const pool = new pg.Pool(server.config)
  onTestFinished(async () => {
    await pool.end()
    await server.stop()
  })
  await migrate(pool)
  await expectOwn('Express', { store: postgresStore(pool) })
})

test('requests that wait for their turn', () =>
  expectOwn('Express', { store: memoryStore(), quota: leakyBucket({ limit: 1, per: '1m', queue: 0 }), maxWait: 1 }))
