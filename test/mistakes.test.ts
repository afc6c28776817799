import { createServer } from 'node:http'
import * as onExpress from '@spillway/express'
import * as onFastify from '@spillway/fastify'
import * as onHono from '@spillway/hono'
import * as onKoa from '@spillway/koa'
import * as onNode from '@spillway/node'
import express, { type ErrorRequestHandler } from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import supertest from 'supertest'
import { describe, expect, test } from 'vitest'

// Mistakes of first-time users. If types do not catch one, an error message does.

/** The first response of an app whose middleware is `rateLimit` itself. */
const uncalled: Readonly<Record<string, () => Promise<string>>> = {
  Express: async () => {
    const tell: ErrorRequestHandler = (error, _req, res, _next) => void res.status(500).send(error.message)
    const app = express()
      .use(onExpress.rateLimit as never)
      .use(tell)
    return (await supertest(app).get('/')).text
  },
  Node: async () => {
    const app = createServer((req, res) => {
      try {
        ;(onNode.rateLimit as never as (...args: unknown[]) => void)(req, res, () => {})
      } catch (error) {
        res.end((error as Error).message)
      }
    })
    return (await supertest(app).get('/')).text
  },
  Koa: async () => {
    const app = new Koa()
    const reported: string[] = []
    app.on('error', (error: Error) => reported.push(error.message))
    app.use(onKoa.rateLimit as never)
    await supertest(app.callback()).get('/')
    return reported.join()
  },
  Hono: async () => {
    const app = new Hono().use(onHono.rateLimit as never).onError((error, c) => c.text(error.message, 500))
    return (await app.request('/')).text()
  },
  Fastify: async () => {
    const app = fastify().addHook('onRequest', onFastify.rateLimit as never)
    const { message } = (await app.inject('/')).json<{ message: string }>()
    await app.close()
    return message
  },
}

describe('a limiter that is never called', () => {
  test.each(Object.entries(uncalled))('is an error with advice at the first request, in %s', async (_, firstAnswer) => {
    expect(await firstAnswer()).toMatch(
      /^rateLimit has no option "\w+"\. It is called once, when the app is built, with options: app\.use\(rateLimit\(\{ quota: perMinute\(100\) \}\)\)\./,
    )
  })
})

const { perMinute, rateLimit, rateLimiter } = onExpress

test.each([
  ['nothing at all', undefined, 'quota must be built by perMinute(100) or one of its siblings; got undefined.'],
  ['a quota by itself', perMinute(100), 'It is called once, when the app is built, with options: app.use('],
  ['a number', { quota: 100 }, 'quota must be built by perMinute(100) or one of its siblings; got 100.'],
  ['what express-rate-limit takes', { windowMs: 60_000, max: 100 }, 'Here that is quota: perMinute(100); @spillway/'],
  ['its headers', { quota: perMinute(9), standardHeaders: true }, 'Here that is headers; @spillway/express/compat'],
  ['its handler', { quota: perMinute(9), handler: () => {} }, 'Here that is onDenied; @spillway/express/compat'],
  [
    'a client for a store',
    { quota: perMinute(9), store: new Map() },
    'memoryStore(), or redisStore(client) from @spill',
  ],
])('rateLimit that is given %s says what to write', (_, options, message) => {
  expect(() => rateLimit(options as never)).toThrow(message)
})

test('a number in quotes is invalid', () => {
  expect(() => perMinute('100' as never)).toThrow('perMinute limit must be a whole number, 0 or more; got "100".')
})

test('a decision that is not awaited allows no request, and does not compile', () => {
  // @ts-expect-error: a promise has no `allowed`
  const { allowed } = rateLimiter({ quota: perMinute(1) }).consume('alice')
  expect(allowed).toBeUndefined()
})
