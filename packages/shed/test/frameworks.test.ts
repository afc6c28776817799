import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import createFastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { createApp, eventHandler, getHeader, type H3Event, sendError, toNodeListener, toWebHandler } from 'h3-1'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { shed as fastifyShed } from '../src/fastify.ts'
import { shed as fetchShed } from '../src/fetch.ts'
import { shed as h3Shed } from '../src/h3.ts'
import { shed as h3v1Shed } from '../src/h3-v1.ts'
import { shed as honoShed } from '../src/hono.ts'
import { shed as koaShed } from '../src/koa.ts'
import { type Make, priority, testShed, until } from './stories.ts'

/** With the `Response` of Hono's server, h3 answers errors with 200. */
const AS_IT_IS = { overrideGlobalObjects: false }

const apps: Readonly<Record<string, Make>> = {
  koa: async (overload, handle) => {
    const app = new Koa({ env: 'test' })
    app.silent = true
    app.use(koaShed({ shedder: overload, priority: (ctx) => priority(ctx.get('x-priority') || undefined) }))
    app.use(async (ctx) => {
      ctx.body = await handle()
    })
    return app.callback()
  },
  hono: async (overload, handle) => {
    const app = new Hono()
    app.use(honoShed({ shedder: overload, priority: (c) => priority(c.req.header('x-priority')) }))
    app.get('/', async (c) => c.text(await handle()))
    app.onError((error, c) => c.text(error.message, 500))
    return getRequestListener(app.fetch, AS_IT_IS)
  },
  fetch: async (overload, handle) => {
    const limit = fetchShed({ shedder: overload, priority: (request) => priority(request.headers.get('x-priority')) })
    const handler = limit(async () => new Response(await handle()))
    const answer = (error: unknown) => new Response((error as Error).message, { status: 500 })
    return getRequestListener(
      (request, env) => (handler as (...args: unknown[]) => Promise<Response>)(request, env).catch(answer),
      AS_IT_IS,
    )
  },
  fastify: async (overload, handle) => {
    const app = createFastify()
    app.addHook(
      'onRequest',
      fastifyShed({ shedder: overload, priority: (req) => priority(req.headers['x-priority'] as string) }),
    )
    app.get('/', async () => await handle())
    await app.ready()
    return (req, res) => void app.server.emit('request', req, res)
  },
  h3: async (overload, handle) => {
    const app = new H3({ silent: true })
    app.use(h3Shed({ shedder: overload, priority: ({ req }) => priority(req.headers.get('x-priority')) }))
    app.get('/', handle)
    return toNodeHandler(app) as RequestListener
  },
  'h3 1': async (overload, handle) => {
    const app = createApp({ onError: (error, event) => sendError(event, error) })
    app.use(h3v1Shed<H3Event>({ shedder: overload, priority: (event) => priority(getHeader(event, 'x-priority')) }))
    app.use(eventHandler(handle))
    return toNodeListener(app)
  },
}

for (const [name, make] of Object.entries(apps)) testShed(name, make)

describe('without a server', () => {
  test('the permit of a fetch response ends when its body has been read', async () => {
    const limit = fetchShed({ limit: 1, queue: 0 })
    const handler = limit(() => new Response('ok'))
    const response = await handler(new Request('http://localhost/'))
    const other = await handler(new Request('http://localhost/'))
    // The body of one chunk is sent without a reader.
    expect([200, 503]).toContain(other.status)
    expect(await response.text()).toBe('ok')
    await until(() => limit.shedder.stats().inFlight === 0)
  })

  test('that of a response that streams ends with the stream, or when it is cancelled', async () => {
    const limit = fetchShed({ limit: 2 })
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(10)) })
    const response = await limit(() => new Response(endless))(new Request('http://localhost/'))
    expect(limit.shedder.stats().inFlight).toBe(1)
    await response.body?.cancel()
    await until(() => limit.shedder.stats().inFlight === 0)
  })

  test('a request that aborts ends its permit', async () => {
    const limit = fetchShed({ limit: 1 })
    const controller = new AbortController()
    void limit(() => new Promise<Response>(() => {}))(new Request('http://localhost/', { signal: controller.signal }))
    await until(() => limit.shedder.stats().inFlight === 1)
    controller.abort()
    expect(limit.shedder.stats().inFlight).toBe(0)
  })

  test('the permit of an upgrade ends with its response, as its connection may last for days', async () => {
    const upgrade = (): Response => Object.assign(new Response(null), { crossws: {} })
    const request = new Request('http://localhost/')
    const [limit, middleware, plugin] = [fetchShed({ limit: 1 }), honoShed({ limit: 1 }), h3Shed({ limit: 1 })]
    await limit(upgrade)(request)
    await new Hono().use(middleware).get('/', upgrade).request('/')
    await new H3().use(plugin).get('/', upgrade).request('/')
    for (const { shedder } of [limit, middleware, plugin])
      expect(shedder.stats()).toMatchObject({ allowed: 1, inFlight: 0 })
  })

  test.each<[string, (() => unknown) | undefined, number]>([
    ['a text', () => 'ok', 200],
    ['an error that is returned', () => new Error('broken'), 500],
    ['an error that is thrown', () => Promise.reject(new Error('broken')), 500],
    ['no route', undefined, 404],
  ])('h3 ends the permit of %s', async (_, handler, status) => {
    const limit = h3Shed({ limit: 1 })
    const app = new H3({ silent: true }).use(limit)
    if (handler) app.get('/', handler)
    expect((await app.request('/')).status).toBe(status)
    expect(limit.shedder.stats()).toMatchObject({ allowed: 1, inFlight: 0 })
  })

  test('h3 ends that of a stream when it has been read', async () => {
    const limit = h3Shed({ limit: 1 })
    const stream = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(9)) })
    const response = await new H3()
      .use(limit)
      .get('/', () => stream)
      .request('/')
    expect(limit.shedder.stats().inFlight).toBe(1)
    await response.body?.cancel()
    await until(() => limit.shedder.stats().inFlight === 0)
  })

  test('h3 1 ends that of a response, and of a client that leaves', async () => {
    const limit = h3v1Shed<H3Event>({ limit: 1, queue: 0 })
    const app = createApp().use(limit)
    app.use(
      '/ok',
      eventHandler(() => 'ok'),
    )
    app.use(
      '/',
      eventHandler(() => new Promise<string>(() => {})),
    )
    const handle = toWebHandler(app)
    expect(await (await handle(new Request('http://localhost/ok'))).text()).toBe('ok')
    await until(() => limit.shedder.stats().inFlight === 0)
    const controller = new AbortController()
    void handle(new Request('http://localhost/', { signal: controller.signal }))
    await until(() => limit.shedder.stats().inFlight === 1)
    expect((await handle(new Request('http://localhost/'))).status).toBe(503)
    controller.abort()
    expect(limit.shedder.stats().inFlight).toBe(0)
  })

  test('the headers of a Hono response stay', async () => {
    const app = new Hono()
    const limit = honoShed({ limit: 1 })
    app.use(limit)
    app.get('/', (c) => c.text('ok', 201, { 'x-own': 'yes' }))
    const response = await app.request('/')
    expect([response.status, response.headers.get('x-own'), await response.text()]).toEqual([201, 'yes', 'ok'])
    await until(() => limit.shedder.stats().inFlight === 0)
  })
})
