import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { fakeClock } from '@spillway/conformance'
import * as forElysia from '@spillway/elysia'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forH31 from '@spillway/h3/v1'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import { memoryStore, perMinute } from '@spillway/memory'
import * as forNode from '@spillway/node'
import { Elysia } from 'elysia'
import express, { type ErrorRequestHandler } from 'express'
import fastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { createApp, eventHandler, toNodeListener } from 'h3-1'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, describe, expect, test } from 'vitest'
import { unhandledRejections } from './unhandled.ts'

// What a function among the options throws reaches the framework's error handling, once; and the route is not called.

type Options = forExpress.RateLimitOptions
type Seen = (error: unknown) => void

/** An app of each framework, which records each handled error and each call of its route. */
const apps: Record<string, (options: Options, onError: Seen, onRoute: () => void) => RequestListener> = {
  Node: (options, onError, onRoute) => {
    const limit = forNode.rateLimit(options as never)
    return (request, response) =>
      limit(request, response, (error) => {
        if (error === undefined) onRoute()
        else onError(error)
        response.writeHead(error === undefined ? 200 : 500).end('handled')
      })
  },
  Express: (options, onError, onRoute) => {
    const handle: ErrorRequestHandler = (error, _req, res, _next) => {
      onError(error)
      res.status(500).send('handled')
    }
    const app = express().use(forExpress.rateLimit(options))
    app.use((_, res) => {
      onRoute()
      res.send('ok')
    })
    return app.use(handle)
  },
  Koa: (options, onError, onRoute) => {
    const app = new Koa()
    app.on('error', onError)
    app.use(forKoa.rateLimit(options as never)).use((ctx) => {
      onRoute()
      ctx.body = 'ok'
    })
    return app.callback()
  },
  Fastify: (options, onError, onRoute) => {
    const app = fastify()
    app.setErrorHandler((error, _, reply) => {
      onError(error)
      void reply.code(500).send('handled')
    })
    app.addHook('onRequest', forFastify.rateLimit(options as never))
    app.all('/', async () => {
      onRoute()
      return 'ok'
    })
    return async (request, response) => {
      await app.ready()
      app.routing(request, response)
    }
  },
  Hono: (options, onError, onRoute) => {
    const app = new Hono().onError((error, c) => {
      onError(error)
      return c.text('handled', 500)
    })
    app.use(forHono.rateLimit(options as never)).all('/', (c) => {
      onRoute()
      return c.text('ok')
    })
    return getRequestListener(app.fetch)
  },
  h3: (options, onError, onRoute) => {
    const handle = (error: Error) => {
      onError(error.cause)
      return new Response('handled', { status: 500 })
    }
    const app = new H3({ onError: handle, silent: true }).use(forH3.rateLimit(options as never))
    app.all('/', () => {
      onRoute()
      return 'ok'
    })
    return toNodeHandler(app) as RequestListener
  },
  'h3 1': (options, onError, onRoute) => {
    const app = createApp({
      onError: (error, { node }) => {
        onError(error.cause)
        node.res.writeHead(500).end('handled')
      },
    })
    app.use(forH31.rateLimit(options as never))
    app.use(
      eventHandler(() => {
        onRoute()
        return 'ok'
      }),
    )
    return toNodeListener(app)
  },
  Elysia: (options, onError, onRoute) => {
    const app = new Elysia()
      .onError(({ error }) => {
        onError(error)
        return new Response('handled', { status: 500 })
      })
      .use(forElysia.rateLimit(options as never))
      .all('/', () => {
        onRoute()
        return 'ok'
      })
    return getRequestListener((request) => app.handle(request))
  },
  fetch: (options, onError, onRoute) => {
    const limited = forFetch.rateLimit(options as never)(() => {
      onRoute()
      return new Response('ok')
    })
    return getRequestListener((request) =>
      limited(request).catch((error: unknown) => {
        onError(error)
        return new Response('handled', { status: 500 })
      }),
    )
  },
}

let server: Server
const unhandled = unhandledRejections()
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const error = new Error('no database')
const throwing = () => {
  throw error
}
const rejecting = () => Promise.reject(error)

describe.each(Object.keys(apps))('in %s', (name) => {
  test.each(['skip', 'match', 'key', 'quota', 'cost', 'claims', 'partition', 'onDenied'])(
    'an error of %s is handled once',
    async (option) => {
      for (const fail of [throwing, rejecting]) {
        const seen: unknown[] = []
        let routed = 0
        const common = { quota: perMinute(1), claims: () => ({ sub: 'ann' }), key: 'claim:sub' as const }
        const options = { ...common, store: memoryStore({ clock: fakeClock() }), [option]: fail }
        server = createServer(
          apps[name]?.(
            options,
            (each) => seen.push(each),
            () => routed++,
          ),
        )
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        const statuses = [(await fetch(url)).status]
        if (option === 'onDenied') statuses.push((await fetch(url)).status)
        expect([statuses.at(-1), seen, routed]).toEqual([500, [error], option === 'onDenied' ? 1 : 0])
        server.closeAllConnections()
        server.close()
      }
      await new Promise((resolve) => setImmediate(resolve))
      expect(unhandled).toEqual([])
    },
  )
})
