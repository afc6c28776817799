import { createServer } from 'node:http'
import http2 from 'node:http2'
import { getRequestListener } from '@hono/node-server'
import {
  fakeClock,
  type Mount,
  type NeutralOptions,
  type NeutralRequest,
  type Scene,
  sendTo,
  testAdapter,
} from '@spillway/conformance'
import * as forFetch from '@spillway/fetch'
import * as forHono from '@spillway/hono'
import { memoryStore, perMinute } from '@spillway/memory'
import { type Context, Hono } from 'hono'
import { methodOverride } from 'hono/method-override'
import { describe, expect, test } from 'vitest'

// What answers a `Request` with a `Response`, on the Node server of Hono. Koa and Fastify are mounted over both versions
// of HTTP in their own tests; Express knows HTTP/1.1 only.

type Handler = Parameters<typeof getRequestListener>[0]

const apps: Readonly<Record<string, (options: NeutralOptions, scene: Scene) => Handler>> = {
  Hono: (options, { timeout, inner, onHandled }) => {
    const app = new Hono()
    app.onError((error, c) => c.text(error.name, 500))
    app.use(async (c, next) => {
      const expired = timeout.then(() => {
        c.res = c.body(null, 503)
      })
      await Promise.race([next(), expired])
    })
    for (const each of [options, ...inner]) app.use(forHono.rateLimit(each))
    app.all('*', (c) => {
      onHandled()
      return c.json({ rateLimit: c.get('rateLimit') })
    })
    return app.fetch
  },
  fetch: (options, { timeout, inner, onHandled }) => {
    const handler = async (request: Request, _: unknown) => {
      onHandled()
      return Response.json({ rateLimit: forFetch.decisionOf(request) })
    }
    const app = [options, ...inner].reduceRight((next, each) => forFetch.rateLimit(each)(next), handler)
    const expired = timeout.then(() => new Response(null, { status: 503 }))
    return (request, beside) => Promise.race([app(request, beside), expired])
  },
}

const transports: Readonly<Record<string, (handler: Handler) => ReturnType<Mount>>> = {
  'HTTP/1.1': (handler) => sendTo(createServer(getRequestListener(handler))),
  'HTTP/2': (handler) => sendTo(http2.createServer(getRequestListener(handler))),
}

for (const [framework, build] of Object.entries(apps)) {
  describe.each(Object.entries(transports))(`${framework} over %s`, (_, serve) => {
    testAdapter(test, (options, scene) => serve(build(options, scene)))
  })
}

// It hands a new request to the whole app.
test.each(Object.keys(transports))(
  'Hono counts a request once that methodOverride hands on over %s',
  async (transport) => {
    const limit = forHono.rateLimit({ quota: perMinute(10), store: memoryStore({ clock: fakeClock() }) })
    const app = new Hono()
    const decided = (c: Context) => c.json([c.req.method, limit.decisionOf(c)?.remaining])
    app.use(limit, methodOverride({ app, header: 'x-method' }))
    app.all('/', decided)
    app.post('/batch', async (c) => {
      const parts = [1, 2, 3].map(() => app.request('/', {}, c.env))
      return c.json(await Promise.all(parts.map(async (part) => (await part).json())))
    })
    const send = await transports[transport]?.(app.fetch)
    const bodyOf = async (request: NeutralRequest) => JSON.parse((await send?.(request))?.body ?? '')
    expect(await bodyOf({ path: '/?a=1', method: 'POST', headers: { 'x-method': 'DELETE' } })).toEqual(['DELETE', 9])
    // What an app makes up itself is counted each: else a batch of logins would be one.
    const made = [7, 6, 5].map((remaining) => ['GET', remaining])
    expect(await bodyOf({ path: '/batch', method: 'POST' })).toEqual(made)
  },
)
