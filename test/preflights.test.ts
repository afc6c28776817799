import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import http2, { type Http2ServerResponse } from 'node:http2'
import { getRequestListener } from '@hono/node-server'
import { fakeClock, modelStore, type Send, sendInto, sendTo } from '@spillway/conformance'
import type { Store } from '@spillway/core'
import type { RateLimitOptions } from '@spillway/core/http'
import * as forElysia from '@spillway/elysia'
import * as forExpress from '@spillway/express'
import { perMinute } from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forH31 from '@spillway/h3/v1'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import { Elysia } from 'elysia'
import express from 'express'
import fastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { createApp, eventHandler, toNodeListener } from 'h3-1'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'

// Reproduces a bug: a request that looked like a preflight was never counted, also where a handler for all methods answered it:
// 200 of 200 such requests ran the handler over a limit of 2.

type Options = RateLimitOptions<unknown>

/** What each app answers, by its path, to every method. */
function answerTo(path: string): { readonly status: number; readonly headers: Readonly<Record<string, string>> } {
  if (path === '/cors') return { status: 204, headers: { 'access-control-allow-methods': 'POST' } }
  return { status: { '/missing': 404, '/disallowed': 405 }[path] ?? 200, headers: {} }
}

const responseTo = (path: string): Response => {
  const { status, headers } = answerTo(path)
  return new Response(status === 204 ? null : 'ok', { status, headers })
}

const overNode = (listener: RequestListener): Promise<Send> => sendTo(createServer(listener))

/** A server of plain Node whose handler answers as `answer` does. */
function ofNode(
  options: Options,
  answer: (res: ServerResponse, status: number, headers: object) => void,
): RequestListener {
  const limit = forNode.rateLimit(options as never)
  return (req, res) =>
    limit(req, res, () => {
      const { status, headers } = answerTo(req.url as string)
      answer(res, status, headers)
    })
}

const ofHono = (options: Options) =>
  new Hono().use(forHono.rateLimit(options as never)).all('*', (c) => responseTo(c.req.path))

function ofH3(options: Options, respond: 'by itself' | 'by the event'): H3 {
  const app = new H3({ silent: true })
  app.use(forH3.rateLimit(options as never))
  return app.all('/**', (event) => {
    const { pathname } = event.url
    if (respond === 'by itself') return responseTo(pathname)
    const { status, headers } = answerTo(pathname)
    event.res.status = status
    for (const [name, value] of Object.entries(headers)) event.res.headers.set(name, value)
    return status === 204 ? null : 'ok'
  })
}

const ofElysia = (options: Options, aot: boolean) =>
  new Elysia({ aot }).use(forElysia.rateLimit(options as never)).all('/*', ({ request, set }) => {
    const { pathname } = new URL(request.url)
    const { status, headers } = answerTo(pathname)
    if (status === 204) return responseTo(pathname)
    set.status = status
    Object.assign(set.headers, headers)
    return 'ok'
  })

const fetchHandler = (options: Options) =>
  forFetch.rateLimit(options as never)((request: Request) => responseTo(new URL(request.url).pathname))

const frameworks: Readonly<Record<string, (options: Options) => Send | Promise<Send>>> = {
  Node: (options) => overNode(ofNode(options, (res, status, headers) => res.writeHead(status, { ...headers }).end())),
  'Node, by a list': (options) =>
    overNode(ofNode(options, (res, status, headers) => res.writeHead(status, Object.entries(headers).flat()).end())),
  'Node over HTTP/2': (options) =>
    sendTo(
      http2.createServer(
        ofNode(options, (res, status, headers) => res.writeHead(status, { ...headers }).end()) as never,
      ),
    ),
  'Node over HTTP/2, by the stream': (options) =>
    sendTo(
      http2.createServer(
        ofNode(options, (res, status, headers) => {
          const fields = Object.fromEntries(Object.entries({ ...res.getHeaders(), ...headers }))
          const { stream } = res as unknown as Http2ServerResponse
          stream.respond({ ...fields, ':status': status }, { endStream: true })
        }) as never,
      ),
    ),
  Express: (options) => {
    const app = express().use(forExpress.rateLimit(options as never))
    return overNode(
      app.use((req, res) => {
        const { status, headers } = answerTo(req.path)
        res.writeHead(status, headers).end()
      }),
    )
  },
  Koa: (options) => {
    const app = new Koa().use(forKoa.rateLimit(options as never))
    app.use((ctx) => {
      const { status, headers } = answerTo(ctx.path)
      ctx.status = status
      ctx.set(headers)
    })
    return overNode(app.callback())
  },
  'Koa, by the response of Node': (options) => {
    const app = new Koa().use(forKoa.rateLimit(options as never))
    app.use((ctx) => {
      const { status, headers } = answerTo(ctx.path)
      ctx.respond = false
      ctx.res.writeHead(status, { ...headers }).end()
    })
    return overNode(app.callback())
  },
  'Fastify, by the response of Node': async (options) => {
    const app = fastify().addHook('onRequest', forFastify.rateLimit(options as never))
    app.all('/*', ({ url }, reply) => {
      const { status, headers } = answerTo(url)
      for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, String(value))
      reply.hijack()
      reply.raw.writeHead(status, headers).end()
    })
    await app.ready()
    return sendTo(app.server)
  },
  Fastify: async (options) => {
    const app = fastify().addHook('onRequest', forFastify.rateLimit(options as never))
    app.all('/*', async ({ url }, reply) => {
      const { status, headers } = answerTo(url)
      return reply.code(status).headers(headers).send()
    })
    await app.ready()
    return sendTo(app.server)
  },
  'Hono on Node': (options) => overNode(getRequestListener(ofHono(options).fetch)),
  Hono: (options) => {
    const app = ofHono(options)
    return sendInto((request) => app.fetch(request))
  },
  'h3 on Node': (options) => overNode(toNodeHandler(ofH3(options, 'by itself')) as RequestListener),
  'h3 on Node, by the event': (options) => overNode(toNodeHandler(ofH3(options, 'by the event')) as RequestListener),
  h3: (options) => {
    const app = ofH3(options, 'by the event')
    return sendInto((request) => app.fetch(request))
  },
  'h3 1': (options) => {
    const handler = eventHandler((event) => {
      const { status, headers } = answerTo(event.path)
      event.node.res.writeHead(status, headers).end()
    })
    return overNode(
      toNodeListener(
        createApp()
          .use(forH31.rateLimit(options as never))
          .use(handler),
      ),
    )
  },
  Elysia: (options) => {
    const app = ofElysia(options, true)
    return sendInto((request) => app.handle(request))
  },
  'Elysia without compilation': (options) => {
    const app = ofElysia(options, false)
    return sendInto((request) => app.handle(request))
  },
  'fetch on Node': (options) => overNode(getRequestListener(fetchHandler(options))),
  fetch: (options) => sendInto(fetchHandler(options)),
}

/** A store, and the promise of the next refund. */
function refundingStore() {
  const model = modelStore(fakeClock())
  let onRefund = (): void => {}
  const take: Store['take'] = async (ops, at) => {
    const taken = model.takeSync(ops, at)
    if (ops.some(({ step }) => step.increment < 0)) onRefund()
    return taken
  }
  const refund = (): Promise<void> =>
    new Promise((resolve) => {
      onRefund = resolve
    })
  return { store: { take, delete: model.delete } satisfies Store, refund }
}

const preflightOf = (path: string) => ({
  path,
  method: 'OPTIONS' as const,
  headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
})

describe.each(Object.entries(frameworks))('%s', (_, mount) => {
  const of = { key: () => 'ann', quota: perMinute(2), deadline: '20s' } as const

  test('counts a preflight that a handler for all methods answers', async () => {
    const send = await mount({ ...of, store: refundingStore().store })
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push((await send(preflightOf('/graphql'))).status)
    expect(statuses).toEqual([200, 200, 429, 429, 429])
  })

  test.each(['/cors', '/missing', '/disallowed'])('refunds a preflight that is answered as one: %s', async (path) => {
    const { store, refund } = refundingStore()
    const send = await mount({ ...of, store })
    for (let i = 0; i < 5; i++) {
      const refunded = refund()
      const { status, headers } = await send(preflightOf(path))
      expect([status, headers['ratelimit']?.slice(0, 13)]).toEqual([answerTo(path).status, '"default";r=1'])
      await refunded
    }
    expect((await send({ path: '/' })).headers['ratelimit']).toContain('r=1')
  })

  // Reproduces a bug: of a response without other headers, Node does not report those that are given to writeHead, so that such
  // preflights were counted.
  test('refunds a preflight that is answered as one, without RateLimit headers', async () => {
    const { store, refund } = refundingStore()
    const send = await mount({ ...of, store, headers: false })
    for (let i = 0; i < 5; i++) {
      const refunded = refund()
      expect((await send(preflightOf('/cors'))).status).toBe(204)
      await refunded
    }
  })

  test('counts every preflight with countPreflight', async () => {
    const send = await mount({ ...of, store: refundingStore().store, countPreflight: true })
    const statuses: number[] = []
    for (let i = 0; i < 3; i++) statuses.push((await send(preflightOf('/cors'))).status)
    expect(statuses).toEqual([204, 204, 429])
  })
})
