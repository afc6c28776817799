import { createServer, type RequestListener } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import {
  fakeClock,
  leanRateLimit,
  type Mount,
  type NeutralOptions,
  type Scene,
  sendInto,
  sendTo,
  testAdapter,
} from '@spillway/conformance'
import { getRequestIP, H3, type H3Event, serve, toMiddleware, toNodeHandler } from 'h3'
import { describe, expect, test } from 'vitest'
import { areOldest, boundsOf } from '../../../test/frameworks.ts'
import { decisionOf, memoryStore, perMinute, rateLimit } from '../src/index.ts'
import * as lean from '../src/lean.ts'

type LimitOf = (options: NeutralOptions, besides: readonly string[]) => ReturnType<typeof rateLimit>

function build(
  options: NeutralOptions,
  { timeout, inner, onHandled, besides, limited }: Scene,
  limitOf: LimitOf = rateLimit,
): H3 {
  const app = new H3({ silent: true })
  app.use((_, next) => Promise.race([next(), timeout.then(() => new Response(null, { status: 503 }))]))
  for (const each of [options, ...inner]) app.use(limited(limitOf(each, besides)))
  app.all('/**', (event) => {
    onHandled()
    return { rateLimit: decisionOf(event) }
  })
  return app
}

const listenerOf = (app: H3): RequestListener => toNodeHandler(app) as RequestListener

/** h3 parses a URL when its event is first asked for the query, and decodes a copy of its path. */
const bounds = boundsOf({ parsesUrls: true, parse: ({ url }: H3Event) => void url.search })

describe('over HTTP/1.1', () => {
  testAdapter(test, (options, scene) => sendTo(createServer(listenerOf(build(options, scene)))), bounds)
})

describe('over HTTP/2', () => {
  testAdapter(test, (options, scene) => sendTo(createHttp2Server(listenerOf(build(options, scene)) as never)), bounds)
})

const withoutServer =
  (limitOf: LimitOf): Mount =>
  (options, scene) => {
    const app = build(options, { ...scene, timeout: new Promise(() => {}) }, limitOf)
    return sendInto((request) => {
      // A timeout in front of the app aborts the request's signal.
      const expired = new AbortController()
      const late = scene.timeout.then(() => {
        expired.abort()
        return new Response(null, { status: 503 })
      })
      const signal = AbortSignal.any([request.signal, expired.signal])
      return Promise.race([app.fetch(new Request(request, { signal })), late])
    })
  }

describe('without a server, as in Workers', () => testAdapter(test, withoutServer(rateLimit), bounds))

if (!areOldest)
  describe('lean', () => {
    const limitOf = leanRateLimit(lean) as LimitOf
    testAdapter(test, (options, scene) => sendTo(createServer(listenerOf(build(options, scene, limitOf)))), bounds)
  })

if (!areOldest)
  describe('lean, without a server', () => testAdapter(test, withoutServer(leanRateLimit(lean) as LimitOf), bounds))

const get = (app: H3, path = '/', headers: Record<string, string> = {}) => app.request(path, { headers })
const ann = { quota: perMinute(1), key: () => 'ann' }

test.each<[string, (app: H3) => unknown]>([
  ['middleware', (app) => app.use(rateLimit(ann))],
  ['a plugin', (app) => app.register(rateLimit(ann))],
  ['middleware as Nitro makes it of a default export', (app) => app.use(toMiddleware(rateLimit(ann)))],
])('as %s, limits all routes and requests without a route', async (_, mount) => {
  const app = new H3({ silent: true })
  mount(app)
  expect([(await get(app)).status, (await get(app)).status]).toEqual([404, 429])
})

test('limits an app as a plugin of its configuration', async () => {
  const app = new H3({ plugins: [rateLimit(ann)] }).get('/', () => 'ok')
  expect([(await get(app)).status, (await get(app)).status]).toEqual([200, 429])
})

test('limits a single route as its middleware', async () => {
  const app = new H3()
  app.get('/limited', () => 'ok', { middleware: [rateLimit(ann)] })
  app.get('/free', () => 'ok')
  const statuses: number[] = []
  for (const path of ['/limited', '/limited', '/free', '/free']) statuses.push((await get(app, path)).status)
  expect(statuses).toEqual([200, 429, 200, 200])
})

test('selects the routes of a mounted app by their whole path, and by the path in the app', async () => {
  for (const path of ['/v1/login', '/login']) {
    const inner = new H3()
    inner.use(rateLimit({ ...ann, match: { path } }))
    inner.get('/login', () => 'ok')
    inner.get('/other', () => 'ok')
    const send = await sendTo(createServer(listenerOf(new H3().mount('/v1', inner))))
    const statuses: number[] = []
    for (const each of ['/v1/login', '/v1/login', '/v1/other']) statuses.push((await send({ path: each })).status)
    expect(statuses, path).toEqual([200, 429, 200])
  }
})

test('skips a route of a mounted app by its whole path', async () => {
  const inner = new H3()
  inner.use(rateLimit({ ...ann, skip: { path: '/v1/health' } }))
  inner.get('/health', () => 'ok')
  const send = await sendTo(createServer(listenerOf(new H3().mount('/v1', inner))))
  for (let i = 0; i < 2; i++) expect((await send({ path: '/v1/health' })).status).toBe(200)
})

// Reproduces a bug: without a server of Node, the whole URL was a reading of the path, too, and no pattern matches that.
test('skips a route of a mounted app by its whole path, as in Workers', async () => {
  const inner = new H3()
  inner.use(rateLimit({ ...ann, skip: { path: '/v1/health' } }))
  inner.get('/health', () => 'ok').get('/login', () => 'ok')
  const app = new H3().mount('/v1', inner)
  const statuses: number[] = []
  for (const path of ['/v1/health', '/v1/health', '/v1/login', '/v1/login'])
    statuses.push((await get(app, path)).status)
  expect(statuses).toEqual([200, 200, 200, 429])
})

// h3's own getRequestIP({ xForwardedFor: true }), and srvx's trustProxy, return what the client wrote.
test('ignores the forwarded address that srvx trusts, and reads that of a trusted hop', async () => {
  const spoofed = ['10.0.0.1, 192.0.2.1', '10.0.0.2, 192.0.2.1', '10.0.0.3, 192.0.2.1']
  for (const options of [{}, { trustProxy: 1 }] as const) {
    const app = new H3().get('/', (event) => getRequestIP(event, { xForwardedFor: true }))
    app.use(rateLimit({ quota: perMinute(2), ...options, logger: { warn: () => {} } }))
    const server = serve(app, { port: 0, hostname: '127.0.0.1', silent: true, trustProxy: true })
    await server.ready()
    const answers: unknown[] = []
    for (const from of spoofed) {
      const response = await fetch(server.url as string, { headers: { 'x-forwarded-for': from } })
      answers.push(response.status === 200 ? await response.text() : response.status)
    }
    await server.close()
    expect(answers).toEqual(['10.0.0.1', '10.0.0.2', 429])
  }
})

test('sets its headers on responses and errors of handlers', async () => {
  const app = new H3({ silent: true })
  app.use(rateLimit({ quota: perMinute(9), key: () => 'ann' }))
  app.get('/own', () => new Response('own'))
  app.get('/moved', () => Response.redirect('http://elsewhere.example/', 302))
  app.get('/failed', () => new Response('no', { status: 502 }))
  app.get('/fails', () => {
    throw new Error('no')
  })
  const statuses: number[] = []
  for (const path of ['/own', '/moved', '/failed', '/fails', '/missing']) {
    const { status, headers } = await get(app, path)
    expect(headers.get('ratelimit-policy'), path).toBe('"default";q=9;w=60')
    statuses.push(status)
  }
  expect(statuses).toEqual([200, 302, 502, 500, 404])
})

test('lets a failing store reach the error handler of the app', async () => {
  const app = new H3({ onError: (error) => new Response((error.cause as Error).name, { status: 503 }), silent: true })
  const store = { take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) }
  app.use(rateLimit({ quota: perMinute(1), store, onStoreError: 'throw' }))
  const response = await get(app)
  expect([response.status, await response.text()]).toEqual([503, 'StoreError'])
})

test('keeps the headers that earlier middleware has staged for errors on a denial', async () => {
  const app = new H3()
  app.use((event) => {
    event.res.errHeaders.set('X-Request-Id', 'r1')
  })
  app.use(rateLimit({ quota: perMinute(1), key: () => 'ann', store: memoryStore({ clock: fakeClock() }) }))
  app.get('/', () => 'ok')
  await get(app)
  const { status, headers } = await get(app)
  expect([status, headers.get('x-request-id'), headers.get('retry-after')]).toEqual([429, 'r1', '60'])
})

test.each<[string, (address: string) => unknown]>([
  ['Bun', (address) => ({ bun: { server: { requestIP: () => ({ address }) } } })],
  ['Deno', (hostname) => ({ deno: { info: { remoteAddr: { hostname } } } })],
])('takes the address from the runtime, as srvx passes it: %s', async (_, runtimeOf) => {
  const app = new H3().use(rateLimit({ quota: perMinute(1) })).get('/', () => 'ok')
  const statuses: number[] = []
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.1']) {
    const request = Object.assign(new Request('http://localhost/'), { runtime: runtimeOf(address) })
    statuses.push((await app.fetch(request as never)).status)
  }
  expect(statuses).toEqual([200, 200, 429])
})
