import { createServer } from 'node:http'
import http2 from 'node:http2'
import { leanRateLimit, type Mount, type NeutralOptions, type Scene, sendTo, testAdapter } from '@spillway/conformance'
import Koa from 'koa'
import request from 'supertest'
import { describe, expect, test, vi } from 'vitest'
import { areOldest, boundsOf } from '../../../test/frameworks.ts'
import { decisionOf, perMinute, rateLimit } from '../src/index.ts'
import * as lean from '../src/lean.ts'

type LimitOf = (options: NeutralOptions, besides: readonly string[]) => ReturnType<typeof rateLimit>

function build(limitOf: LimitOf, options: NeutralOptions, { timeout, inner, onHandled, besides, limited }: Scene): Koa {
  const app = new Koa()
  app.silent = true
  app.use((ctx, next) => {
    const expired = timeout.then(() => {
      ctx.status = 503
    })
    return Promise.race([next(), expired])
  })
  for (const each of [options, ...inner]) app.use(limited(limitOf(each, besides)))
  app.use((ctx) => {
    onHandled()
    ctx.body = { rateLimit: decisionOf(ctx) }
  })
  return app
}

const mountWith =
  (limitOf: LimitOf): Mount =>
  (options, scene) =>
    sendTo(createServer(build(limitOf, options, scene).callback()))

// Koa looks for the end of a path itself, and reads the target anew if it has a fragment.
const bounds = boundsOf({ parse: ({ path }: Koa.Context) => void path })

testAdapter(test, mountWith(rateLimit), bounds)

if (!areOldest) describe('lean', () => testAdapter(test, mountWith(leanRateLimit(lean) as LimitOf), bounds))

/** Koa 2 answers no HEAD request over HTTP/2, with or without middleware. */
const isAnswered = (name: string): boolean => !areOldest || !name.includes('HEAD')

describe('over HTTP/2', () => {
  const testAnswered = (name: string, body: () => Promise<void>) => test.runIf(isAnswered(name))(name, body)
  const mount: Mount = (options, scene) => sendTo(http2.createServer(build(rateLimit, options, scene).callback()))
  testAdapter(testAnswered, mount, bounds)
})

test('lets a failing store reach the error handler of the app', async () => {
  const app = new Koa()
  const seen: unknown[] = []
  app.on('error', (error: Error) => seen.push(error.name))
  app.use(
    rateLimit({
      quota: perMinute(1),
      onStoreError: 'throw',
      store: { take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) },
    }),
  )
  expect((await request(app.callback()).get('/')).status).toBe(500)
  expect(seen).toEqual(['StoreError'])
})

test('does not change a frozen error', async () => {
  const app = new Koa()
  const seen: unknown[] = []
  const frozen = Object.freeze(new Error('frozen'))
  // Koa itself modifies the errors that reach it.
  app.use(async (ctx, next) => {
    await next().catch((error: unknown) => seen.push(error))
    ctx.status = 500
  })
  app.use(rateLimit({ quota: perMinute(1) }))
  app.use(() => {
    throw frozen
  })
  await request(app.callback()).get('/')
  expect(seen).toEqual([frozen])
})

test('uses the proxy setting of the app', async () => {
  const app = new Koa({ proxy: true, maxIpsCount: 1 })
  app.use(rateLimit({ quota: perMinute(1) }))
  app.use((ctx) => {
    ctx.body = 'ok'
  })
  const from = (address: string) => request(app.callback()).get('/').set('x-forwarded-for', address)
  const statuses = [await from('10.0.0.1'), await from('10.0.0.2'), await from('spoofed, 10.0.0.1')].map(
    ({ status }) => status,
  )
  expect(statuses).toEqual([200, 200, 429])
})

// Koa removed the headers of the response: clients of a 429 did not learn when to retry.
test.each<[string, (ctx: Koa.Context) => unknown]>([
  ['throws', (ctx) => ctx.throw(429, 'Slow down.')],
  ['rejects with', async (ctx) => ctx.throw(429, 'Slow down.')],
])('keeps its headers on an error that onDenied %s', async (_, onDenied) => {
  const app = new Koa()
  app.silent = true
  app.use(rateLimit({ quota: perMinute(1), onDenied: onDenied as () => undefined }))
  const server = app.callback()
  await request(server).get('/')
  const { status, headers, text } = await request(server).get('/')
  expect([status, text, headers['retry-after'], headers['ratelimit']]).toEqual([
    429,
    'Slow down.',
    '60',
    '"default";r=0;t=60',
  ])
})

// The adapter assigned headers to the error, which threw a TypeError in its place: the 418 became a 500.
test.each<[string, () => Error]>([
  ['of its own', () => Object.defineProperty(new Error('teapot'), 'headers', { get: () => ({ 'x-own': 'kept' }) })],
  [
    'of its class',
    () =>
      new (class extends Error {
        get headers() {
          return { 'x-own': 'kept' }
        }
      })('teapot'),
  ],
])('leaves the status of an error whose headers are a getter %s', async (_, make) => {
  const app = new Koa()
  app.silent = true
  app.use(rateLimit({ quota: perMinute(1) }))
  app.use(() => {
    throw Object.assign(make(), { status: 418 })
  })
  const { status, headers } = await request(app.callback()).get('/')
  expect([status, headers['x-own']]).toEqual([418, 'kept'])
})

// If every proxy is trusted, any client can choose its key: there was no warning.
test('warns once of an app that trusts every proxy, and only of that', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const serve = async (setting: object) => {
    const app = new Koa(setting)
    app.use(rateLimit({ quota: perMinute(9) }))
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    await request(app.callback()).get('/')
  }
  for (const setting of [{}, { proxy: true, maxIpsCount: 1 }, { proxy: true, proxyIpHeader: 'CF-Connecting-IP' }])
    await serve(setting)
  expect(warn).not.toHaveBeenCalled()
  for (const setting of [{ proxy: true }, { proxy: true, maxIpsCount: 0 }]) await serve(setting)
  expect(warn).toHaveBeenCalledOnce()
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('trustProxy: 1'))
})

// Such a policy applied to no request, without a word.
test('warns once of a path without the prefix of its mount, as koa-mount sets it', async () => {
  const logger = { warn: vi.fn() }
  const limit = rateLimit({ quota: perMinute(1), match: { path: '/login' }, logger })
  const app = new Koa()
  app.use(async (ctx, next) => {
    Object.assign(ctx, { mountPath: '/api', path: ctx.path.slice('/api'.length) })
    await limit(ctx, next)
  })
  for (const path of ['/api/other', '/api/login', '/api/login']) await request(app.callback()).get(path)
  expect(logger.warn.mock.calls).toEqual([[expect.stringContaining('match.path matches')]])
})
