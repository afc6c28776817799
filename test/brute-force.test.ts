import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { START } from '@spillway/conformance'
import type { RateLimiter } from '@spillway/core'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import { redisStore } from '@spillway/redis'
import express from 'express'
import fastify from 'fastify'
import { Redis } from 'ioredis'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { startRedis } from './services/redis.ts'

// Attacks on a login that counts failures: the answer of the handler comes after the request was counted.

const { memoryStore, penalty, rateLimiter } = forExpress

const LOGIN = penalty({ after: 5, within: '15m', block: '15m', grow: 2, max: '1d' })
const options = { name: 'login', quota: LOGIN, key: () => 'alice', countIf: [401] } as const

type Answer = (url: string) => Promise<number>

/** Apps with a login of each framework. The status of the answer is what `answer` resolves with. */
const apps = {
  Express: async (store: forExpress.Store, answer: Answer) => {
    const app = express()
    app.use(
      forExpress.rateLimit({ ...options, store }),
      async (req, res) => void res.status(await answer(req.url)).end(),
    )
    return createServer(app)
  },
  Node: async (store: forExpress.Store, answer: Answer) => {
    const limit = forNode.rateLimit({ ...options, store })
    return createServer(async (req, res) => {
      if (await limit(req, res)) res.writeHead(await answer(req.url ?? '')).end()
    })
  },
  Koa: async (store: forExpress.Store, answer: Answer) => {
    const app = new Koa()
    app.use(forKoa.rateLimit({ ...options, store }))
    app.use(async (ctx) => {
      ctx.status = await answer(ctx.url)
    })
    return createServer(app.callback())
  },
  Fastify: async (store: forExpress.Store, answer: Answer) => {
    const app = fastify()
    await app.register(forFastify.rateLimit({ ...options, store }))
    app.get('/*', async (req, reply) => reply.status(await answer(req.url)).send())
    await app.ready()
    return app.server
  },
}

async function listening(server: ReturnType<typeof createServer>) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const send = async (path = '/') => fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })
  return { server, port, send }
}

/** A store that reports each refund. */
function watchedStore() {
  const store = memoryStore({ clock: () => START })
  const waiting: (() => void)[] = []
  const take: forExpress.Store['take'] = async (ops, at) => {
    const taken = store.takeSync(ops, at)
    if (ops.some(({ step }) => step.increment < 0)) waiting.shift()?.()
    return taken
  }
  const refund = (): Promise<void> => new Promise((resolve) => waiting.push(resolve))
  return { store: { take, delete: store.delete } as forExpress.Store, refund }
}

describe.each(Object.entries(apps))('%s', (_, app) => {
  test('40 concurrent wrong logins are 5 failures, and the others are denied until the block ends', async () => {
    const { store } = watchedStore()
    const { server, send } = await listening(await app(store, async () => 401))
    const answers = await Promise.all(Array.from({ length: 40 }, () => send()))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(5)
    const denied = answers.filter(({ status }) => status === 429)
    expect(denied).toHaveLength(35)
    for (const each of denied) {
      expect(each.headers.get('retry-after')).toBe('900')
      expect(await each.json()).toMatchObject({
        type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
        'violated-policies': ['login'],
      })
    }
    server.close()
  })

  test('correct logins cost nothing, and one does not unblock or forgive wrong ones', async () => {
    const { store, refund } = watchedStore()
    const { server, send } = await listening(await app(store, async (url) => (url === '/right' ? 200 : 401)))
    const right = async (): Promise<number> => {
      const refunded = refund()
      const { status } = await send('/right')
      if (status === 200) await refunded
      return status
    }
    for (let i = 0; i < 4; i++) expect((await send()).status).toBe(401)
    for (let i = 0; i < 8; i++) expect(await right()).toBe(200)
    expect((await send()).status).toBe(401)
    expect([await right(), (await send()).status]).toEqual([429, 429])
    server.close()
  })

  test('a client that disconnects before its answer is counted', async () => {
    const { store } = watchedStore()
    let answer = (_status: number): void => {}
    const { server, port } = await listening(await app(store, () => new Promise((resolve) => (answer = resolve))))
    const closed = new Promise((resolve) => {
      server.once('request', (_req, res) => {
        res.once('close', resolve)
        // The handler runs in a later tick.
        setImmediate(() => attempt.destroy())
      })
    })
    const attempt = request({ host: '127.0.0.1', port, path: '/' }).on('error', () => {})
    attempt.end()
    await closed
    answer(200)
    await new Promise((resolve) => setImmediate(resolve))
    const limiter = rateLimiter({ name: 'login', quota: LOGIN, store })
    expect((await limiter.peek('alice')).remaining).toBe(4)
    server.close()
  })
})

test('two processes on one Redis block a key together, by hand too, until the same moment', async () => {
  const redis = await startRedis()
  const clients = [new Redis(redis.port, '127.0.0.1'), new Redis(redis.port, '127.0.0.1')]
  const [one, other] = clients.map((client) =>
    rateLimiter({ name: 'login', quota: LOGIN, store: redisStore(client, { denyCache: false }), deadline: '20s' }),
  ) as [RateLimiter, RateLimiter]
  const decisions = await Promise.all(Array.from({ length: 40 }, (_, i) => (i % 2 ? one : other).consume('alice')))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
  await one.unblock('alice')
  expect((await other.peek('alice')).remaining).toBe(5)
  await other.block('alice', '1h')
  const { allowed, retryAfterMs } = await one.peek('alice')
  expect([allowed, retryAfterMs > 3_500_000, retryAfterMs <= 3_600_000]).toEqual([false, true, true])
  for (const client of clients) client.disconnect()
  await redis.stop()
})
