import type { RequestListener } from 'node:http'
import { fakeClock } from '@spillway/conformance'
import * as spillwayExpress from '@spillway/express'
import { memoryStore, perMinute } from '@spillway/express'
import * as spillwayHono from '@spillway/hono'
import * as spillwayKoa from '@spillway/koa'
import * as spillwayNode from '@spillway/node'
import express from 'express'
import { Hono } from 'hono'
import Koa from 'koa'
import request from 'supertest'
import { describe, expect, test, vi } from 'vitest'

/** Apps with a limiter for all routes, one below `/api`, and routes that fail and succeed. */
interface App {
  get(path: string, headers?: Record<string, string>): Promise<{ status: number; headers: Record<string, string> }>
}

const from = { incoming: { socket: { remoteAddress: '203.0.113.7' } } }

const two = () => {
  const store = memoryStore({ clock: fakeClock() })
  return {
    all: { name: 'all', quota: perMinute(10), store, refundIf: (status: number) => status >= 500 },
    api: { name: 'api', quota: perMinute(2), store },
  }
}

const STATUSES: Readonly<Record<string, number>> = { '/fails': 500, '/api/ok': 200 }

const apps: Record<string, () => App> = {
  Express: () => {
    const { all, api } = two()
    const app = express()
    const router = express.Router()
    router.use(spillwayExpress.rateLimit(api))
    router.get('/ok', (_req, res) => {
      res.send('ok')
    })
    app.use(spillwayExpress.rateLimit(all))
    app.use('/api', router)
    app.get('/fails', () => {
      throw new Error('no')
    })
    app.use((_error: Error, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
      res.status(500).send('failed')
    })
    return { get: (path, headers = {}) => request(app).get(path).set(headers) }
  },
  Node: () => {
    const { all, api } = two()
    const limitAll = spillwayNode.rateLimit(all)
    const limitApi = spillwayNode.rateLimit(api)
    const app: RequestListener = (req, res) =>
      limitAll(req, res, () => {
        const route = (): unknown => res.writeHead(STATUSES[req.url ?? ''] ?? 404).end()
        if (req.url?.startsWith('/api')) limitApi(req, res, route)
        else route()
      })
    return { get: (path, headers = {}) => request(app).get(path).set(headers) }
  },
  Koa: () => {
    const { all, api } = two()
    const app = new Koa()
    app.silent = true
    const limitApi = spillwayKoa.rateLimit(api)
    app.use(spillwayKoa.rateLimit(all))
    app.use((ctx, next) => (ctx.path.startsWith('/api') ? limitApi(ctx, next) : next()))
    app.use((ctx) => {
      if (ctx.path === '/fails') throw new Error('no')
      if (ctx.path === '/api/ok') ctx.body = 'ok'
    })
    return { get: (path, headers = {}) => request(app.callback()).get(path).set(headers) }
  },
  Hono: () => {
    const { all, api } = two()
    const app = new Hono()
    const sub = new Hono()
    sub.use(spillwayHono.rateLimit(api))
    sub.get('/ok', (c) => c.text('ok'))
    app.use(spillwayHono.rateLimit(all))
    app.route('/api', sub)
    app.get('/fails', () => {
      throw new Error('no')
    })
    app.onError((_, c) => c.text('failed', 500))
    return {
      get: async (path, headers = {}) => {
        const response = await app.request(path, { headers }, from)
        return { status: response.status, headers: Object.fromEntries(response.headers) }
      },
    }
  },
}

describe.each(Object.entries(apps))('in %s', (_, build) => {
  test('two limiters on one request both send their policies', async () => {
    const { headers } = await build().get('/api/ok')
    expect([headers['ratelimit-policy'], headers['ratelimit']]).toEqual([
      '"all";q=10;w=60, "api";q=2;w=60',
      '"all";r=9;t=6, "api";r=1;t=30',
    ])
  })

  test('a limiter below a mount counts and denies only requests to the mount', async () => {
    const app = build()
    const statuses: number[] = []
    for (let i = 0; i < 3; i++) statuses.push((await app.get('/api/ok')).status)
    expect(statuses).toEqual([200, 200, 429])
    expect((await app.get('/api/ok')).headers).toMatchObject({
      ratelimit: '"all";r=6;t=6, "api";r=0;t=30',
      'retry-after': '30',
    })
    expect((await app.get('/nowhere')).status).toBe(404)
  })

  test('a route that fails still sends quota headers, and is refunded with refundIf', async () => {
    const app = build()
    const failed = await app.get('/fails')
    expect([failed.status, failed.headers['ratelimit']]).toEqual([500, '"all";r=9;t=6'])
    await vi.waitFor(async () => expect((await app.get('/fails')).headers['ratelimit']).toBe('"all";r=9;t=6'))
  })
})
