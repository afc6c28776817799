import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { fakeClock, faultyStore } from '@spillway/conformance'
import { type Duration, leakyBucket, type Quota, type Store } from '@spillway/core'
import * as forExpress from '@spillway/express'
import { memoryStore, perMinute, rateLimiter } from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { stream } from 'hono/streaming'
import Koa from 'koa'
import { afterEach, describe, expect, test, vi } from 'vitest'

// A language model's response: fifty units are reserved, and the actual cost is known after the last token.

type Options = {
  name: string
  quota: Quota
  key: () => string
  cost: number
  settle: () => number
  store: Store
  deadline?: Duration
}
type Answer = () => AsyncGenerator<string>

const frameworks: Record<string, (options: Options, answer: Answer) => RequestListener> = {
  Node: (options, answer) => {
    const limit = forNode.rateLimit(options)
    return (request, response) => limit(request, response, () => Readable.from(answer()).pipe(response))
  },
  Express: (options, answer) => {
    const app = express()
    app.use(forExpress.rateLimit(options))
    app.use((_, res) => {
      Readable.from(answer()).pipe(res)
    })
    return app
  },
  Koa: (options, answer) => {
    const app = new Koa()
    app.silent = true
    app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      ctx.body = Readable.from(answer())
    })
    return app.callback()
  },
  Fastify: (options, answer) => {
    const app = fastify()
    // A hook that comes when the body has been read: the message is closed by then, and its client there.
    app.all('/', { preHandler: forFastify.rateLimit(options) }, async (_, reply) => reply.send(Readable.from(answer())))
    return async (request, response) => {
      await app.ready()
      app.routing(request, response)
    }
  },
  Hono: (options, answer) => {
    const app = new Hono()
    app.use(forHono.rateLimit(options))
    app.all('/', () => new Response(Readable.toWeb(Readable.from(answer())) as ReadableStream))
    return getRequestListener(app.fetch)
  },
}

let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** A server that streams words, each when the test allows it. */
async function serve(name: string) {
  const store = memoryStore({ clock: fakeClock() })
  const policy = { name: 'tokens', quota: perMinute(100) }
  const words: (() => void)[] = []
  let tokens = 0
  async function* answer(): AsyncGenerator<string> {
    for (let i = 0; i < 3; i++) {
      await new Promise<void>((resolve) => words.push(resolve))
      tokens++
      yield `word ${i} `
    }
  }
  const options = { ...policy, store, key: () => 'ann', cost: 50, settle: () => tokens }
  server = createServer(frameworks[name]?.(options, answer))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const speak = async () => {
    await vi.waitFor(() => expect(words.length).toBe(1))
    words.shift()?.()
  }
  const limiter = rateLimiter({ ...policy, store })
  return { url, speak, left: async () => (await limiter.peek('ann')).remaining }
}

describe.each(Object.keys(frameworks))('a stream in %s', (name) => {
  test('is corrected after its last word, not earlier', async () => {
    const { url, speak, left } = await serve(name)
    const fetched = fetch(url)
    await speak()
    const response = await fetched
    expect(response.headers.get('ratelimit')).toBe('"tokens";r=50;t=1')
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toBe('word 0 ')
    await speak()
    expect((await reader?.read())?.value).toBe('word 1 ')
    expect(await left()).toBe(50)
    await speak()
    while (!(await reader?.read())?.done);
    await vi.waitFor(async () => expect(await left()).toBe(97))
  })

  test('is corrected to the words sent so far if its client disconnects', async () => {
    const { url, speak, left } = await serve(name)
    const client = new AbortController()
    const fetched = fetch(url, { signal: client.signal })
    await speak()
    const reader = (await fetched).body?.getReader()
    await reader?.read()
    expect(await left()).toBe(50)
    client.abort()
    await vi.waitFor(async () => expect(await left()).toBe(99))
  })
})

/** A server whose store answers when the test allows it, after the client has disconnected. */
async function hangUpEarly(name: string, { quota, cost }: Pick<Options, 'quota' | 'cost'>) {
  const inner = memoryStore({ clock: fakeClock() })
  const asked: (() => void)[] = []
  let open = false
  const take: Store['take'] = async (ops) => {
    if (!open) await new Promise<void>((resolve) => asked.push(resolve))
    return inner.takeSync(ops)
  }
  const store: Store = { take, delete: inner.delete }
  const options: Options = { name: 'early', quota, cost, key: () => 'ann', settle: () => 7, store, deadline: '20s' }
  server = createServer(frameworks[name]?.(options, async function* () {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const connected = once(server, 'connection')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = (await connected) as [Socket]
  const closed = once(socket, 'close')
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}')
  await vi.waitFor(() => expect(asked.length).toBe(1))
  client.destroy()
  await closed
  open = true
  for (const answer of asked) answer()
  const limiter = rateLimiter({ name: 'early', quota, store: inner })
  return { left: async () => (await limiter.peek('ann')).remaining, limiter }
}

// The close event of a client is emitted only once.
describe.each(Object.keys(frameworks))('a client of %s that hangs up before the store has answered', (name) => {
  test('is not charged, because its handler does not run', async () => {
    const { left, limiter } = await hangUpEarly(name, { quota: perMinute(100), cost: 50 })
    await vi.waitFor(async () => expect(await left()).toBe(100))
    // It is not settled a second time: units that others have consumed meanwhile remain consumed.
    await limiter.consume('ann', 20)
    expect(await left()).toBe(80)
  })

  test('waits in no queue', async () => {
    const { left } = await hangUpEarly(name, { quota: leakyBucket({ limit: 1, per: '1h', queue: 2 }), cost: 2 })
    await vi.waitFor(async () => expect(await left()).toBe(3))
  })
})

// The response to the streamed request has begun: with an asynchronous verdict, the app's own request was answered 499.
test.each([memoryStore(), faultyStore(memoryStore())])(
  'an app that streams makes a request of its own: %#',
  async (store) => {
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.get('/part', forHono.rateLimit({ quota: perMinute(10), store }), (c) =>
      c.json(forHono.decisionOf(c)?.remaining),
    )
    app.get('/', (c) =>
      stream(c, async (body) => {
        await body.write('part: ')
        await once(c.env.incoming, 'continued')
        await body.write(await (await app.request('/part', {}, c.env)).text())
      }),
    )
    server = createServer(getRequestListener(app.fetch as never)).listen(0, '127.0.0.1')
    const arrived = once(server, 'request')
    await once(server, 'listening')
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toBe('part: ')
    const [incoming] = await arrived
    incoming.emit('continued')
    expect((await reader?.read())?.value).toBe('9')
  },
)
