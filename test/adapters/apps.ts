import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import * as forExpress from '@spillway/express'
import { memoryStore, perMinute } from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'

export const TEXT = 'text/plain; charset=utf-8'
export const ETAG = '"v1"'

type Options = ReturnType<typeof optionsAt>

/** Six units a minute, a request's weight in a header, on a clock of one's own. */
export const optionsAt = (clock: () => number) => ({
  name: 'app',
  quota: perMinute(6),
  cost: 'header:x-weight' as const,
  store: memoryStore({ clock }),
})

/** The same app in each framework: `/` answers, `/fails` and `/shared` throw, `/cached` knows its version. */
export const frameworks: Record<string, (options: Options) => RequestListener> = {
  Express: (options) => {
    const shared = new Error('the same each time')
    const app = express()
    app.use(forExpress.rateLimit(options))
    app.all('/', (_, res) => {
      res.set('content-type', TEXT).send('ok')
    })
    app.all('/fails', () => {
      throw new Error('no')
    })
    app.all('/shared', () => {
      throw shared
    })
    app.all('/cached', (_, res) => {
      res.set('etag', ETAG).send('ok')
    })
    return app
  },
  Koa: (options) => {
    const shared = new Error('the same each time')
    const app = new Koa()
    app.silent = true
    app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      if (ctx.path === '/fails') throw new Error('no')
      if (ctx.path === '/shared') throw shared
      ctx.set('content-type', TEXT)
      ctx.body = 'ok'
      if (ctx.path === '/cached') ctx.set('etag', ETAG)
      if (ctx.fresh) ctx.status = 304
    })
    return app.callback()
  },
  Hono: (options) => {
    const shared = new Error('the same each time')
    const app = new Hono()
    app.use(forHono.rateLimit(options))
    app.all('/', (c) => c.body('ok', 200, { 'content-type': TEXT }))
    app.all('/fails', () => {
      throw new Error('no')
    })
    app.all('/shared', () => {
      throw shared
    })
    app.all('/cached', (c) =>
      c.req.header('if-none-match') === ETAG ? c.body(null, 304, { etag: ETAG }) : c.body('ok', 200, { etag: ETAG }),
    )
    return getRequestListener(app.fetch)
  },
  Fastify: (options) => {
    const shared = new Error('the same each time')
    const app = fastify()
    app.addHook('onRequest', forFastify.rateLimit(options))
    app.all('/', async () => 'ok')
    app.all('/fails', async () => {
      throw new Error('no')
    })
    app.all('/shared', async () => {
      throw shared
    })
    app.all('/cached', async ({ headers }, reply) => {
      void reply.header('etag', ETAG)
      return headers['if-none-match'] === ETAG ? reply.code(304).send() : 'ok'
    })
    return async (request, response) => {
      await app.ready()
      app.routing(request, response)
    }
  },
  fetch: (options) => {
    const answer = (request: Request): Response => {
      const { pathname } = new URL(request.url)
      const cached = pathname === '/cached' && request.headers.get('if-none-match') === ETAG
      if (cached) return new Response(null, { status: 304, headers: { etag: ETAG } })
      return pathname === '/'
        ? new Response('ok', { headers: { 'content-type': TEXT } })
        : new Response('no', { status: 500 })
    }
    return getRequestListener(forFetch.rateLimit(options)(answer))
  },
}
