import {
  fakeClock,
  leanRateLimit,
  type Mount,
  type NeutralOptions,
  type Scene,
  sendInto,
  testAdapter,
} from '@spillway/conformance'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { areOldest, boundsOf } from '../../../test/frameworks.ts'
import { decisionOf, memoryStore, perMinute, rateLimit, settled } from '../src/index.ts'
import * as lean from '../src/lean.ts'

/** The bindings that the Node server would pass. */
const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } })

type LimitOf = (options: NeutralOptions, besides: readonly string[]) => ReturnType<typeof rateLimit>

function build(
  limitOf: LimitOf,
  options: NeutralOptions,
  { timeout, inner, onHandled, besides, limited }: Scene,
): Hono {
  const app = new Hono()
  app.onError((error, c) => c.text(error.name, 500))
  app.use(async (c, next) => {
    const expired = timeout.then(() => {
      c.res = c.body(null, 503)
    })
    await Promise.race([next(), expired])
  })
  for (const each of [options, ...inner]) app.use(limited(limitOf(each, besides)))
  app.all('*', (c) => {
    onHandled()
    return c.json({ rateLimit: decisionOf(c) })
  })
  return app
}

const sendTo =
  (limitOf: LimitOf): Mount =>
  (options, scene) => {
    const app = build(limitOf, options, scene)
    return sendInto((request) => app.fetch(request, from('203.0.113.7')))
  }

/** `Request` has parsed the URL. */
const bounds = boundsOf({ parsesUrls: true })

testAdapter(test, sendTo(rateLimit), bounds)

if (!areOldest) describe('lean', () => testAdapter(test, sendTo(leanRateLimit(lean) as LimitOf), bounds))

test.each([{}, { refundIf: () => true }])(
  'sets its headers on a response that the handler made: %o',
  async (options) => {
    const app = new Hono()
    app.use(rateLimit({ quota: perMinute(2), ...options }))
    app.get('/own', () => new Response('own'))
    app.get('/immutable', () => Response.redirect('http://localhost/own', 302))
    app.get('/fails', () => {
      throw new Error('no')
    })
    app.onError((_, c) => c.text('failed', 500))
    for (const path of ['/own', '/immutable', '/fails']) {
      expect((await app.request(path, {}, from('203.0.113.7'))).headers.get('RateLimit-Policy')).toBe(
        '"default";q=2;w=60',
      )
    }
  },
)

test('lets a failing store reach the error handler of the app', async () => {
  const app = new Hono()
  app.use(
    rateLimit({
      quota: perMinute(1),
      onStoreError: 'throw',
      store: { take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) },
    }),
  )
  app.onError((error, c) => c.text(error.name, 503))
  const response = await app.request('/')
  expect([response.status, await response.text()]).toEqual([503, 'StoreError'])
})

test('keeps the headers of earlier middleware on a denial', async () => {
  const app = new Hono()
  app.use(async (c, next) => {
    c.header('X-Request-Id', 'r1')
    await next()
  })
  app.use(rateLimit({ quota: perMinute(1) }))
  app.get('/', (c) => c.text('fine'))
  for (const status of [200, 429]) {
    const response = await app.request('/', {}, from('203.0.113.7'))
    expect([response.status, response.headers.get('X-Request-Id')]).toEqual([status, 'r1'])
  }
})

test('reports each limiter once if a handler discards the response with their headers', async () => {
  const app = new Hono()
  app.use(rateLimit({ name: 'outer', quota: perMinute(10) }), rateLimit({ name: 'inner', quota: perMinute(5) }))
  app.use(async (c) => {
    c.res = undefined
    c.res = new Response('anew')
  })
  const { headers } = await app.request('/', {}, from('203.0.113.7'))
  expect(headers.get('RateLimit-Policy')).toBe('"outer";q=10;w=60, "inner";q=5;w=60')
})

// The incoming message does not describe the body of a request that the app makes.
test('a body that an app gives to its own request costs the most', async () => {
  const cost = { cost: 'header:content-length', maxCost: 100 } as const
  const limit = rateLimit({ quota: perMinute(1_000), ...cost, store: memoryStore({ clock: fakeClock() }) })
  const app = new Hono()
  app.post('/part', limit, (c) => c.json(limit.decisionOf(c)?.remaining))
  app.post('/batch', (c) => app.request('/part', { method: 'POST', body: 'x'.repeat(300) }, c.env))
  const env = { incoming: { url: '/batch', socket: { remoteAddress: '203.0.113.7' } } }
  expect(await (await app.request('/batch', { method: 'POST' }, env)).json()).toBe(900)
  // Behind methodOverride, which replaces the body of a form.
  const form = { incoming: { ...env.incoming, url: '/part', headers: { 'content-length': '300' } } }
  expect(await (await app.request('/part', { method: 'POST', body: 'x'.repeat(300) }, form)).json()).toBe(800)
})

// Any property of a service binding is a function, also one of the names that Node's response has: each request was
// answered 499, or refunded at once.
test('takes no binding of Workers for the response or the message of Node', async () => {
  const binding: object = new Proxy(() => Promise.resolve(), { get: () => binding })
  const store = memoryStore({ clock: fakeClock() })
  const app = new Hono()
  app.use(rateLimit({ name: 'later', quota: perMinute(9), key: async () => 'ann', store }))
  app.use(rateLimit({ quota: perMinute(1), key: () => 'ann', countIf: [200], store }))
  app.get('/', (c) => c.body(null))
  const statuses: number[] = []
  for (let i = 0; i < 2; i++) {
    statuses.push((await app.request('/', {}, { outgoing: binding, incoming: binding })).status)
    await settled()
  }
  expect(statuses).toEqual([200, 429])
})
