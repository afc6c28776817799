import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { faultyStore } from '@spillway/conformance'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forKoa from '@spillway/koa'
import { memoryStore } from '@spillway/memory'
import * as forNode from '@spillway/node'
import express from 'express'
import { fastify } from 'fastify'
import Koa from 'koa'
import { expect, test } from 'vitest'

const { settled } = forExpress

type Handler = (req: IncomingMessage, res: ServerResponse) => void

const apps = {
  Express: async (options: forExpress.RateLimitOptions, handler: Handler): Promise<RequestListener> => {
    const app = express()
    app.use(forExpress.rateLimit(options), handler)
    return app
  },
  Node: async (options: forNode.RateLimitOptions, handler: Handler): Promise<RequestListener> => {
    const limit = forNode.rateLimit(options)
    return (req, res) => limit(req, res, () => handler(req, res))
  },
  Koa: async (options: forKoa.RateLimitOptions, handler: Handler): Promise<RequestListener> => {
    const app = new Koa()
    app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      ctx.respond = false
      handler(ctx.req, ctx.res)
    })
    return app.callback()
  },
  Fastify: async (options: forFastify.RateLimitOptions, handler: Handler): Promise<RequestListener> => {
    const app = fastify()
    await app.register(forFastify.rateLimit(options))
    app.get('/', (req, reply) => {
      reply.hijack()
      handler(req.raw, reply.raw)
    })
    await app.ready()
    return app.routing
  },
} as const

// Reproduces a bug: the docs said that corrections are sent before a server calls back. The one of a client that
// disconnects is sent after it, so that the store's client was closed before, and the units stayed taken.
test.each(Object.keys(apps) as (keyof typeof apps)[])(
  '%s: corrections that begin after the server is closed are waited for',
  async (framework) => {
    const events: string[] = []
    const inner = faultyStore(memoryStore())
    const store: forExpress.Store = {
      ...inner,
      // As the stores over a network: the calls of a tick are sent together.
      async take(ops, ...rest) {
        await new Promise((resolve) => setImmediate(resolve))
        const taken = await inner.take(ops, ...rest)
        events.push(ops[0]?.step.peek ? 'peek' : 'take')
        return taken
      },
    }
    let arrive: () => void = () => {}
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const options = { quota: forExpress.perMinute(100), key: () => 'ann', cost: 50, settle: () => 7, store }
    const server = createServer(await apps[framework](options, () => arrive())).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const client = request({ host: '127.0.0.1', port, path: '/' }).on('error', () => {})
    client.end()
    await arrived
    const closed = new Promise<void>((resolve) => {
      server.close(async () => {
        events.push('closed')
        await settled()
        events.push('settled')
        resolve()
      })
    })
    client.destroy()
    await closed
    expect(events).toEqual(['take', 'closed', 'take', 'settled'])
  },
)

test('without corrections it resolves', async () => {
  expect(await settled()).toBeUndefined()
})
