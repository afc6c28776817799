import { once } from 'node:events'
import { createServer, request as httpRequest, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { faultyStore } from '@spillway/conformance'
import { perMinute, rateLimiter, type Store } from '@spillway/core'
import * as forElysia from '@spillway/elysia'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import { memoryStore } from '@spillway/memory'
import * as forNode from '@spillway/node'
import { Elysia } from 'elysia'
import express from 'express'
import fastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { expect, test } from 'vitest'

const quota = perMinute(10)
const optionsFor = (store: Store) => ({ quota, key: () => 'ann', store })
type Options = ReturnType<typeof optionsFor>

/** An app with middleware that awaits `before`, then a limiter, then a handler. */
type Build<App> = (options: Options, before: () => Promise<unknown>, handle: () => string) => App

const honoApp: Build<Hono> = (options, before, handle) => {
  const app = new Hono()
  app.use(async (_, next) => {
    await before()
    await next()
  })
  app.use(forHono.rateLimit(options))
  return app.get('/', (c) => c.text(handle()))
}

const h3App: Build<H3> = (options, before, handle) => {
  const app = new H3()
  app.use(async (_, next) => {
    await before()
    return next()
  })
  app.use(forH3.rateLimit(options))
  return app.get('/', handle)
}

const fetchHandlers: Record<string, Build<(request: Request) => unknown>> = {
  fetch: (options, before, handle) => {
    const limited = forFetch.rateLimit(options)(() => new Response(handle()))
    return async (request) => {
      await before()
      return limited(request)
    }
  },
  Hono: (...args) => honoApp(...args).fetch,
  h3: (...args) => h3App(...args).fetch,
  Elysia: (options, before, handle) => {
    const app = new Elysia()
    app.onRequest(async () => void (await before()))
    return app.use(forElysia.rateLimit(options)).get('/', handle).handle
  },
}

const listeners: Record<string, Build<RequestListener>> = {
  Node: (options, before, handle) => {
    const limit = forNode.rateLimit(options)
    return async (req, res) => {
      await before()
      limit(req, res, () => res.end(handle()))
    }
  },
  'Node, awaited': (options, before, handle) => {
    const limit = forNode.rateLimit(options)
    return async (req, res) => {
      await before()
      if (await limit(req, res)) res.end(handle())
    }
  },
  Express: (options, before, handle) => {
    const app = express()
    app.use((_req, _res, next) => void before().then(() => next()))
    app.use(forExpress.rateLimit(options))
    return app.get('/', (_, res) => void res.send(handle()))
  },
  Koa: (options, before, handle) => {
    const app = new Koa()
    app.use(async (_, next) => {
      await before()
      await next()
    })
    app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      ctx.body = handle()
    })
    return app.callback()
  },
  Fastify: (options, before, handle) => {
    const app = fastify()
    app.addHook('onRequest', async () => void (await before()))
    app.addHook('onRequest', forFastify.rateLimit(options))
    app.get('/', async () => handle())
    return (req, res) => void app.ready().then(() => app.routing(req, res))
  },
  Hono: (...args) => getRequestListener(honoApp(...args).fetch),
  h3: (...args) => toNodeHandler(h3App(...args)) as RequestListener,
}

const nextTask = () => new Promise((resolve) => setImmediate(resolve))

/** A promise that resolves to the units left, after refunds. */
async function leftIn(store: Store): Promise<number> {
  await nextTask()
  return (await rateLimiter({ quota, store }).peek('ann')).remaining
}

const stores: Record<string, () => Store> = { synchronous: memoryStore, asynchronous: () => faultyStore(memoryStore()) }

// The client leaves while middleware before the limiter awaits something. Adapters for fetch counted such a request, by no
// address on Node, and called the handler.
for (const [kind, storeOf] of Object.entries(stores)) {
  test.each(Object.keys(fetchHandlers))(
    `%s: a request whose client has left before the limiter takes nothing: ${kind}`,
    async (framework) => {
      const store = storeOf()
      const client = new AbortController()
      let handled = 0
      const before = async () => client.abort()
      const handler = fetchHandlers[framework]?.(optionsFor(store), before, () => `${++handled}`)
      await handler?.(new Request('http://localhost/', { signal: client.signal }))
      expect([await leftIn(store), handled]).toEqual([10, 0])
    },
  )

  test.each(Object.keys(listeners))(
    `%s on Node: a request whose client has left before the limiter takes nothing: ${kind}`,
    async (framework) => {
      const store = storeOf()
      const server = createServer().listen(0, '127.0.0.1')
      const arrived = once(server, 'request')
      const left = arrived.then(([, response]) => once(response, 'close'))
      let handled = 0
      const listener = listeners[framework]?.(
        optionsFor(store),
        () => left,
        () => `${++handled}`,
      )
      server.on('request', listener as RequestListener)
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const client = httpRequest({ host: '127.0.0.1', port }).on('error', () => {})
      client.end()
      await arrived
      client.destroy()
      await left
      await nextTask()
      expect([await leftIn(store), handled]).toEqual([10, 0])
      server.close()
    },
  )
}
