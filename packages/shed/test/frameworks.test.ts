import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import createFastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, describe, expect, test } from 'vitest'
import { shed as fastifyShed } from '../src/fastify.ts'
import { shed as fetchShed } from '../src/fetch.ts'
import { shed as honoShed } from '../src/hono.ts'
import { type Shedder, shedder } from '../src/index.ts'
import { shed as koaShed } from '../src/koa.ts'

// One story in each framework: the limit is one, and a request ends when the test says so.

/** What a request is answered with, once the test says so: a text, or an error that the handler throws. */
type Handle = () => Promise<string>

const priority = (text: string | null | undefined) => (text ?? 'default') as 'default'

const apps: Readonly<Record<string, (overload: Shedder, handle: Handle) => Promise<RequestListener>>> = {
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
    return getRequestListener(app.fetch)
  },
  fetch: async (overload, handle) => {
    const limit = fetchShed({ shedder: overload, priority: (request) => priority(request.headers.get('x-priority')) })
    const handler = limit(async () => new Response(await handle()))
    const answer = (error: unknown) => new Response((error as Error).message, { status: 500 })
    return getRequestListener((request, env) =>
      (handler as (...args: unknown[]) => Promise<Response>)(request, env).catch(answer),
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
}

const open: Server[] = []
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function until(reached: () => boolean): Promise<void> {
  while (!reached()) await new Promise((resolve) => setImmediate(resolve))
}

describe.each(Object.entries(apps))('%s', (_, make) => {
  async function start(overload: Shedder) {
    const running: { end: (text: string) => void; fail: (error: Error) => void }[] = []
    const handle: Handle = () => new Promise((end, fail) => void running.push({ end, fail }))
    const server = createServer(await make(overload, handle))
    open.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, running }
  }

  test('drops what is beyond the limit, and ends each permit once', async () => {
    const overload = shedder({ limit: 1, queue: 0 })
    const { url, running } = await start(overload)
    const first = fetch(url)
    await until(() => running.length === 1)
    const denied = await fetch(url)
    expect(denied.status).toBe(503)
    expect(denied.headers.get('content-type')).toBe('application/problem+json')
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await denied.json()).toMatchObject({ status: 503 })
    running[0]?.end('ok')
    expect(await (await first).text()).toBe('ok')
    await until(() => overload.stats().inFlight === 0)
    expect(overload.stats()).toMatchObject({ allowed: 1, dropped: { 'concurrency-limit': 1 } })
  })

  test('serves a request that waits, and forgets one whose client leaves', async () => {
    const overload = shedder({ limit: 1, interval: '1h' })
    const { url, running } = await start(overload)
    const first = fetch(url)
    await until(() => running.length === 1)
    const controller = new AbortController()
    const leaving = fetch(url, { signal: controller.signal }).catch(() => 'left')
    await until(() => overload.stats().queued === 1)
    const second = fetch(url)
    await until(() => overload.stats().queued === 2)
    controller.abort()
    expect(await leaving).toBe('left')
    await until(() => overload.stats().queued === 1)
    running[0]?.end('first')
    expect(await (await first).text()).toBe('first')
    await until(() => running.length === 2)
    running[1]?.end('second')
    expect(await (await second).text()).toBe('second')
    await until(() => overload.stats().inFlight === 0)
  })

  test('ends the permit of a handler that throws, and of a client that leaves', async () => {
    const overload = shedder({ limit: 1 })
    const { url, running } = await start(overload)
    const failed = fetch(url)
    await until(() => running.length === 1)
    running[0]?.fail(new Error('broken'))
    expect((await failed).status).toBe(500)
    await until(() => overload.stats().inFlight === 0)
    const controller = new AbortController()
    const left = fetch(url, { signal: controller.signal }).catch(() => 'left')
    await until(() => running.length === 2)
    controller.abort()
    expect(await left).toBe('left')
    await until(() => overload.stats().inFlight === 0)
  })

  test('a priority that does not exist fails the request, and holds nothing', async () => {
    const overload = shedder({ limit: 1 })
    const { url } = await start(overload)
    expect((await fetch(url, { headers: { 'x-priority': 'crucial' } })).status).toBe(500)
    expect(overload.stats().inFlight).toBe(0)
  })
})

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
