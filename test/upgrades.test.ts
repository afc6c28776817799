import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { node } from '@elysiajs/node'
import fastifyWebSocket from '@fastify/websocket'
import { createAdaptorServer, upgradeWebSocket } from '@hono/node-server'
import { fakeClock } from '@spillway/conformance'
import * as forElysia from '@spillway/elysia'
import * as forExpress from '@spillway/express'
import { memoryStore, perMinute, rateLimiter, settled } from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import { plugin as crossws } from 'crossws/server/node'
import { Elysia } from 'elysia'
import express, { type Express } from 'express'
import { fastify } from 'fastify'
import { defineWebSocketHandler, H3, serve } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { Server as SocketServer } from 'socket.io'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'

// Reproduces: `countIf` and `refundIf` were not called for an upgrade in Fastify, Express and engine.io, but `settle` was;
// in Hono and h3 they saw the status of a response that is not sent.

type Options = forExpress.RateLimitOptions & forFastify.RateLimitOptions & forKoa.RateLimitOptions

const sockets = new WebSocketServer({ noServer: true })

/** Accepts an upgrade to `/`; refuses any other as many samples do. */
function accept(request: IncomingMessage, head: Buffer): void {
  const { socket, url } = request
  if (url === '/') sockets.handleUpgrade(request, socket, head, () => {})
  else socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n')
}

/** A server that passes upgrades to a handler of requests, with a response of their own. */
function upgrading(handle: (request: IncomingMessage, response: ServerResponse, head: Buffer) => unknown): Server {
  return createServer().on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const response = new ServerResponse(request)
    response.assignSocket(socket as Socket)
    handle(request, response, head)
  })
}

interface WithSockets extends Express {
  ws(path: string, handler: () => void): void
}
const expressWs = createRequire(import.meta.url)('express-ws') as (app: Express, server: Server) => void

const servers: Readonly<Record<string, (options: Options) => Server | Promise<Server>>> = {
  Express: (options) => {
    const app = express()
    app.use(forExpress.rateLimit(options), (req) => accept(req, Buffer.alloc(0)))
    return upgrading(app)
  },
  'express-ws': (options) => {
    const app = express() as WithSockets
    const server = createServer(app)
    expressWs(app, server)
    app.use(forExpress.rateLimit(options))
    app.ws('/', () => {})
    return server
  },
  'engine.io': (options) => {
    const server = createServer()
    const io = new SocketServer(server, { transports: ['websocket'] })
    io.engine.use(forExpress.rateLimit(options))
    return server
  },
  Node: (options) => {
    const limit = forNode.rateLimit(options as unknown as forNode.RateLimitOptions)
    return createServer().on('upgrade', (req, socket, head) => {
      limit(req, socket, () => accept(req, head))
    })
  },
  Koa: (options) => {
    const app = new Koa()
    app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      ctx.respond = false
      accept(ctx.req, Buffer.alloc(0))
    })
    return upgrading(app.callback())
  },
  Fastify: async (options) => {
    const app = fastify()
    await app.register(fastifyWebSocket)
    app.addHook('onRequest', forFastify.rateLimit(options))
    app.get('/', { websocket: true }, () => {})
    await app.ready()
    return app.server
  },
  Hono: (options) => {
    const app = new Hono()
    app.use(forHono.rateLimit(options as unknown as forHono.RateLimitOptions))
    app.get(
      '/',
      upgradeWebSocket(() => ({})),
    )
    return createAdaptorServer({
      fetch: app.fetch,
      websocket: { server: new WebSocketServer({ noServer: true }) as never },
      overrideGlobalObjects: false,
    }) as Server
  },
  'fetch on the Node server of Hono': (options) => {
    const app = new Hono()
    app.get(
      '/',
      upgradeWebSocket(() => ({})),
    )
    const limit = forFetch.rateLimit(options as unknown as forFetch.RateLimitOptions)
    return createAdaptorServer({
      fetch: limit(app.fetch),
      websocket: { server: new WebSocketServer({ noServer: true }) as never },
      overrideGlobalObjects: false,
    }) as Server
  },
  Elysia: async (options) => {
    const app = new Elysia({ adapter: node() })
    app.use(forElysia.rateLimit(options as unknown as forElysia.RateLimitOptions))
    app.ws('/', {})
    return new Promise((resolve) => {
      app.listen({ port: 0, hostname: '127.0.0.1' }, (running) =>
        resolve((running as unknown as { readonly node: { readonly server: Server } }).node.server),
      )
    })
  },
  h3: async (options) => {
    const app = new H3()
    app.use(forH3.rateLimit(options as unknown as forH3.RateLimitOptions))
    app.get('/', defineWebSocketHandler({}))
    const server = serve(app, { port: 0, hostname: '127.0.0.1', plugins: [crossws({})], silent: true, manual: true })
    await server.serve()
    return server.node?.server as Server
  },
}

const open: { close(): unknown }[] = []
afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

/** A server of a framework that reports the calls of its options, and connects clients. */
async function setUp(name: string, options: object) {
  const store = memoryStore({ clock: fakeClock() })
  const server = await servers[name]?.({
    quota: perMinute(10),
    key: () => 'ann',
    cost: 4,
    store,
    ...options,
  } as Options)
  if (server === undefined) throw new Error(name)
  if (!server.listening) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  server.unref()
  open.push(server)
  const { port } = server.address() as AddressInfo
  const connect = (path = name === 'engine.io' ? '/socket.io/?EIO=4&transport=websocket' : '/') => {
    const client = new WebSocket(`ws://127.0.0.1:${port}${path}`)
    client.on('error', () => {})
    open.push({ close: () => client.terminate() })
    return client
  }
  const left = async () => (await rateLimiter({ quota: perMinute(10), store }).peek('ann')).remaining
  return { connect, left }
}

/** Calls, and a promise for each of them. */
function recorded() {
  const calls: string[] = []
  const waiting = new Map<string, () => void>()
  return {
    calls,
    called: (name: string): void => {
      calls.push(name)
      waiting.get(name)?.()
    },
    until: (name: string): Promise<void> =>
      new Promise((resolve) => {
        if (calls.includes(name)) resolve()
        else waiting.set(name, resolve)
      }),
  }
}

describe.each(Object.keys(servers))('an upgrade through %s', (name) => {
  test('has the status 101 when it happens, and is settled when its connection ends', async () => {
    const { calls, called, until } = recorded()
    const { connect, left } = await setUp(name, {
      refundIf: (status: number) => {
        called(`refundIf ${status}`)
        return false
      },
      countIf: (status: number) => {
        called(`countIf ${status}`)
        return true
      },
      settle: () => {
        called('settle')
        return 1
      },
    })
    const client = connect()
    await once(client, 'open')
    await until('countIf 101')
    // Does not wait for the connection.
    await settled()
    expect([calls, await left()]).toEqual([['refundIf 101', 'countIf 101'], 6])
    client.close()
    await until('settle')
    await settled()
    expect([calls, await left()]).toEqual([['refundIf 101', 'countIf 101', 'settle'], 9])
  })

  test.each<object>([{ refundIf: (status: number) => status === 101 }, { countIf: [401] }])(
    'is refunded while it is open: %o',
    async (options) => {
      const { connect, left } = await setUp(name, { ...options, settle: () => 10 })
      for (let i = 0; i < 5; i++) {
        await once(connect(), 'open')
        await settled()
      }
      expect(await left()).toBe(10)
    },
  )

  // express-ws upgrades what it then refuses, and engine.io answers with 400.
  const [denies, refuses] = [name !== 'express-ws', !['express-ws', 'engine.io'].includes(name)]

  test.runIf(denies)('is denied beyond the limit', async () => {
    const { connect } = await setUp(name, { quota: perMinute(4), countIf: [101] })
    await once(connect(), 'open')
    const [, { statusCode }] = await once(connect(), 'unexpected-response')
    expect(statusCode).toBe(429)
  })

  test.runIf(refuses)('that the app refuses has the status of its answer', async () => {
    const { calls, called, until } = recorded()
    const { connect, left } = await setUp(name, {
      refundIf: (status: number) => {
        called(`refundIf ${status}`)
        return status === 404
      },
    })
    await once(connect('/none'), 'unexpected-response')
    await until('refundIf 404')
    await settled()
    expect([calls, await left()]).toEqual([['refundIf 404'], 10])
  })
})
