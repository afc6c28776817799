import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import {
  fakeClock,
  leanRateLimit,
  type NeutralOptions,
  type Scene,
  sendInto,
  sendTo,
  testAdapter,
} from '@spillway/conformance'
import {
  type App,
  createApp,
  createError,
  createRouter,
  eventHandler,
  fetchWithEvent,
  toNodeListener,
  toWebHandler,
  useBase,
} from 'h3-1'
import { fetchNodeRequestHandler } from 'node-mock-http'
import { describe, expect, test, vi } from 'vitest'
import { areOldest, boundsOf } from '../../../test/frameworks.ts'
import { decisionOf, memoryStore, perMinute, type RateLimitOptions, rateLimit } from '../src/v1/index.ts'
import * as lean from '../src/v1/lean.ts'

type LimitOf = (options: NeutralOptions, besides: readonly string[]) => ReturnType<typeof rateLimit>

function build(
  options: NeutralOptions,
  { timeout, inner, onHandled, besides, limited }: Scene,
  limitOf: LimitOf = rateLimit,
): App {
  const app = createApp()
  const expire = eventHandler(({ node }) => {
    void timeout.then(() => node.res.writeHead(503).end())
  })
  app.use(expire)
  for (const each of [options, ...inner]) app.use(limited(limitOf(each, besides)))
  const handler = eventHandler((event) => {
    onHandled()
    return { rateLimit: decisionOf(event) }
  })
  return app.use(handler)
}

describe('over HTTP/1.1', () => {
  testAdapter(test, (options, scene) => sendTo(createServer(toNodeListener(build(options, scene)))), boundsOf())
})

if (!areOldest)
  describe('lean', () => {
    const limitOf = leanRateLimit(lean) as LimitOf
    testAdapter(test, (options, scene) => sendTo(createServer(toNodeListener(build(options, scene, limitOf)))))
  })

describe('over HTTP/2', () => {
  testAdapter(
    test,
    (options, scene) => sendTo(createHttp2Server(toNodeListener(build(options, scene)) as never)),
    boundsOf(),
  )
})

describe('without a server, as in Workers', () => {
  testAdapter(
    test,
    (options, scene) => {
      const handle = toWebHandler(build(options, { ...scene, timeout: new Promise(() => {}) }))
      return sendInto((request) => {
        // A timeout in front of the app aborts the request's signal.
        const expired = new AbortController()
        const late = scene.timeout.then(() => {
          expired.abort()
          return new Response(null, { status: 503 })
        })
        const signal = AbortSignal.any([request.signal, expired.signal])
        return Promise.race([handle(new Request(request, { signal })), late])
      })
    },
    boundsOf({ mostVisits: 5, parsesUrls: true }),
  )
})

const ann = { quota: perMinute(1), key: () => 'ann' }
const ok = () => eventHandler(() => 'ok')
const served = (app: App) => sendTo(createServer(toNodeListener(app)))

/** The statuses of requests for these paths. */
async function statusesOf(app: App, ...paths: readonly string[]): Promise<readonly number[]> {
  const send = await served(app)
  const statuses: number[] = []
  for (const path of paths) statuses.push((await send({ path })).status)
  return statuses
}

test('as a handler of the app, limits all routes and requests without a route', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  expect(await statusesOf(createApp().use(rateLimit(ann)), '/', '/other')).toEqual([404, 429])
})

// Reproduces a bug: the second limiter replaced the headers of the first.
test('two limiters report both, if the app replaces the context between them', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const app = createApp()
  app.use(rateLimit({ name: 'a', quota: perMinute(9), key: () => 'ann', store }))
  app.use(
    eventHandler((event) => {
      event.context = {}
    }),
  )
  app.use(rateLimit({ name: 'b', quota: perMinute(6), key: () => 'ann', store }))
  app.use(
    eventHandler((event) => {
      event.context = {}
      return decisionOf(event)?.policy
    }),
  )
  const { headers, body } = await (await served(app))()
  expect([headers['ratelimit'], body]).toEqual(['"a";r=8;t=7, "b";r=5;t=10', 'b'])
})

test('limits one route, before its handler or within it', async () => {
  const limits = [rateLimit({ ...ann, name: 'first' }), rateLimit({ ...ann, name: 'second' })] as const
  const handled: string[] = []
  const before = eventHandler({
    onRequest: limits[0],
    handler: () => {
      handled.push('before')
      return 'ok'
    },
  })
  const within = eventHandler(async (event) => {
    await limits[1](event)
    if (event.handled) return undefined
    handled.push('within')
    return 'ok'
  })
  const router = createRouter().get('/before', before).get('/within', within).get('/free', ok())
  const paths = ['/before', '/before', '/within', '/within', '/free', '/free']
  expect(await statusesOf(createApp().use(router), ...paths)).toEqual([200, 429, 200, 429, 200, 200])
  expect(handled).toEqual(['before', 'within'])
})

test.each<[string, (app: App) => App]>([
  ['of the app', (app) => createApp().use('/v1', app.handler)],
  ['of useBase', (app) => createApp().use(useBase('/v1', app.handler))],
])('matches the requested path and the path below a prefix %s', async (_, mount) => {
  for (const path of ['/v1/login', '/login']) {
    const inner = createApp()
      .use(rateLimit({ ...ann, match: { path } }))
      .use(ok())
    expect(await statusesOf(mount(inner), '/v1/login', '/v1/login?a', '/v1/other'), path).toEqual([200, 429, 200])
  }
})

test('ends the path at an encoded question mark, as h3 does since it decodes paths', async () => {
  const login = createRouter().get('/login', ok())
  const inner = createApp().use(rateLimit({ ...ann, match: { path: '/v1/login' } }))
  const statuses = await statusesOf(createApp().use('/v1', inner.use(login).handler), '/v1/login', '/v1/login%3fa')
  expect(statuses).toEqual([200, 429])
})

// Reproduces a bug: h3 leads `/health%3f/health` to `/health`. That reading was dropped, because the requested path ends with it.
test('skips no path whose end behind an encoded question mark is the route', async () => {
  const app = createApp().use(rateLimit({ ...ann, skip: { path: '/:tenant/health' } }))
  app.use(createRouter().get('/health', ok()).get('/:tenant/health', ok()))
  const paths = ['/a/health', '/a/health', '/health%3f/health', '/health%3f/health']
  expect(await statusesOf(app, ...paths)).toEqual([200, 200, 200, 429])
})

test('skips a route below a prefix by its whole path', async () => {
  const inner = createApp()
    .use(rateLimit({ ...ann, skip: { path: '/v1/health' } }))
    .use(ok())
  for (const app of [createApp().use('/v1', inner.handler), createApp().use(useBase('/v1', inner.handler))]) {
    expect(await statusesOf(app, '/v1/health', '/v1/health')).toEqual([200, 200])
  }
})

test('counts a request once that passes the same limiter twice', async () => {
  const limit = rateLimit({ ...ann, quota: perMinute(2) })
  const inner = createApp().use(limit).use(ok())
  const send = await served(createApp().use(limit).use('/v1', inner.handler))
  const { status, headers } = await send({ path: '/v1' })
  expect([status, headers.ratelimit]).toEqual([200, '"default";r=1;t=30'])
})

test('sets its headers on errors of handlers, and on those of h3', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const fails = (error: Error) =>
    eventHandler(() => {
      throw error
    })
  const router = createRouter()
    .get('/teapot', fails(createError({ statusCode: 418 })))
    .get('/fails', fails(new Error('no')))
  const send = await served(
    createApp()
      .use(rateLimit({ quota: perMinute(9), key: () => 'ann' }))
      .use(router),
  )
  const statuses: number[] = []
  for (const path of ['/teapot', '/fails', '/missing']) {
    const { status, headers } = await send({ path })
    expect(headers['ratelimit-policy'], path).toBe('"default";q=9;w=60')
    statuses.push(status)
  }
  expect(statuses).toEqual([418, 500, 404])
})

test('lets a failing store reach the error handler of the app', async () => {
  const seen: unknown[] = []
  const store = { take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) }
  const app = createApp({
    onError: (error, { node }) => {
      seen.push(error.message)
      node.res.writeHead(503).end()
    },
  })
  app.use(rateLimit({ quota: perMinute(1), store, onStoreError: 'throw' })).use(ok())
  expect(await statusesOf(app, '/')).toEqual([503])
  expect(seen).toEqual([expect.stringContaining('The store failed: down')])
})

// h3's own getRequestIP({ xForwardedFor: true }) returns what the client wrote.
test('ignores a forwarded address, and reads that of a trusted hop', async () => {
  for (const options of [{}, { trustProxy: 1 }] as const) {
    const app = createApp().use(rateLimit({ quota: perMinute(2), ...options, logger: { warn: () => {} } }))
    const send = await served(app.use(ok()))
    const statuses: number[] = []
    for (const spoofed of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) {
      statuses.push((await send({ headers: { 'x-forwarded-for': `${spoofed}, 192.0.2.1` } })).status)
    }
    expect(statuses).toEqual([200, 200, 429])
  }
})

test('takes the address that a server other than Node passes in the context', async () => {
  const handle = toWebHandler(
    createApp()
      .use(rateLimit({ quota: perMinute(1) } satisfies RateLimitOptions))
      .use(ok()),
  )
  const statuses: number[] = []
  for (const clientAddress of ['192.0.2.1', '192.0.2.2', '192.0.2.1']) {
    const request = new Request('http://localhost/', { headers: { 'x-forwarded-for': '10.0.0.1' } })
    statuses.push((await handle(request, { clientAddress })).status)
  }
  expect(statuses).toEqual([200, 200, 429])
})

test('warns of requests without an address, and counts them as one client', async () => {
  const warn = vi.fn()
  const app = createApp().use(rateLimit({ quota: perMinute(1), store: memoryStore(), logger: { warn } }))
  const handle = toWebHandler(app.use(ok()))
  const ask = async (client: string) => {
    const headers = { 'x-forwarded-for': client }
    return (await handle(new Request('http://localhost/', { headers }))).status
  }
  expect([await ask('192.0.2.1'), await ask('192.0.2.2')]).toEqual([200, 429])
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('trustProxy: 1'))
})

// All clients shared one count: a page of a new client had no data once the pages of others had used the quota up.
test('counts the requests that a handler sends to its own app for the client of the handler', async () => {
  const app = createApp({
    onRequest: ({ node, context }) => {
      context.clientAddress = String(node.req.headers['x-client'] ?? '')
    },
  })
  app.use(rateLimit({ quota: perMinute(4), store: memoryStore({ clock: fakeClock() }) }))
  // As Nitro makes event.fetch.
  const localFetch = (path: string, init: object) => fetchNodeRequestHandler(toNodeListener(app), path, init)
  const page = eventHandler((event) => {
    const { context } = event
    return fetchWithEvent(event, '/data', { context, headers: { 'x-client': '' } }, { fetch: localFetch as never })
  })
  const data = eventHandler((event) => `${event.context.rateLimit?.remaining}`)
  const send = await served(app.use(createRouter().get('/page', page).get('/data', data)))
  const from = async (client: string) => {
    const { status, body } = await send({ path: '/page', headers: { 'x-client': client } })
    return status === 200 ? body : status
  }
  expect([await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.1')]).toEqual(['2', '0', 429])
  expect(await from('192.0.2.2')).toBe('2')
})

test('reads a header that was sent twice as one list, in any server', async () => {
  const limit = rateLimit({ quota: perMinute(1), key: 'header:x-user', store: memoryStore({ clock: fakeClock() }) })
  const app = createApp().use(limit).use(ok())
  const send = await served(app)
  const twice = { headers: { 'x-user': ['ann', 'bob'] as never } }
  expect([(await send(twice)).status, (await send(twice)).status]).toEqual([200, 429])
  const headers = ['ann', 'bob'].map((user): [string, string] => ['x-user', user])
  expect((await fetchNodeRequestHandler(toNodeListener(app), '/', { headers })).status).toBe(429)
  expect((await send({ headers: { 'x-user': 'ann' } })).status).toBe(200)
  expect(await limit.reset('ann, bob')).toBe(true)
})
