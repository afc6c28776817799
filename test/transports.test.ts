import { createServer } from 'node:http'
import http2 from 'node:http2'
import { getRequestListener } from '@hono/node-server'
import {
  type AdapterBounds,
  type Mount,
  type NeutralOptions,
  type Scene,
  sendTo,
  testAdapter,
} from '@spillway/conformance'
import * as forFetch from '@spillway/fetch'
import * as forHono from '@spillway/hono'
import { type Context, Hono } from 'hono'
import { describe, test } from 'vitest'
import { areOldest } from './frameworks.ts'

// What answers a `Request` with a `Response`, on the Node server of Hono. Koa and Fastify are mounted over both versions
// of HTTP in their own tests; Express knows HTTP/1.1 only.

type Handler = Parameters<typeof getRequestListener>[0]

const apps: Readonly<Record<string, (options: NeutralOptions, scene: Scene) => Handler>> = {
  Hono: (options, { timeout, inner, onHandled, limited }) => {
    const app = new Hono()
    app.onError((error, c) => c.text(error.name, 500))
    app.use(async (c, next) => {
      const expired = timeout.then(() => {
        c.res = c.body(null, 503)
      })
      await Promise.race([next(), expired])
    })
    for (const each of [options, ...inner]) app.use(limited(forHono.rateLimit(each)))
    app.all('*', (c) => {
      onHandled()
      return c.json({ rateLimit: c.get('rateLimit') })
    })
    return app.fetch
  },
  fetch: (options, { timeout, inner, onHandled, limited }) => {
    const handler = async (request: Request, _: unknown) => {
      onHandled()
      return Response.json({ rateLimit: forFetch.decisionOf(request) })
    }
    const app = [options, ...inner].reduceRight((next, each) => limited(forFetch.rateLimit(each))(next), handler)
    const expired = timeout.then(() => new Response(null, { status: 503 }))
    return (request, beside) => Promise.race([app(request, beside), expired])
  },
}

const transports: Readonly<Record<string, (handler: Handler) => ReturnType<Mount>>> = {
  'HTTP/1.1': (handler) => sendTo(createServer(getRequestListener(handler))),
  'HTTP/2': (handler) => sendTo(http2.createServer(getRequestListener(handler))),
}

/** The server of Hono makes the URL and the headers of a `Request` when they are first read. */
const parse = (request: Request): void => void [request.url, request.headers.get('cookie')]

const BOUNDS: Readonly<Record<string, AdapterBounds>> = {
  Hono: { mostVisits: 5, parsesUrls: true, parse: (c: Context) => parse(c.req.raw) },
  fetch: { mostVisits: 5, parsesUrls: true, parse },
}

for (const [framework, build] of Object.entries(apps)) {
  // Of what is mounted here, only Hono has versions.
  if (areOldest && framework === 'fetch') continue
  describe.each(Object.entries(transports))(`${framework} over %s`, (_, serve) => {
    testAdapter(test, (options, scene) => serve(build(options, scene)), BOUNDS[framework])
  })
}
