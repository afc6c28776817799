import { leanRateLimit, type Mount, type NeutralOptions, type Send, sendTo, testAdapter } from '@spillway/conformance'
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { areOldest, boundsOf } from '../../../test/frameworks.ts'
import { decisionOf, perMinute, rateLimit } from '../src/index.ts'
import * as lean from '../src/lean.ts'

const apps: FastifyInstance[] = []
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())))

function build(options: FastifyServerOptions = {}): FastifyInstance {
  const app = fastify(options)
  apps.push(app)
  return app
}

/** Sends to a real server: injected requests have no socket. */
async function listening(app: FastifyInstance): Promise<Send> {
  await app.ready()
  return sendTo(app.server)
}

type LimitOf = (options: NeutralOptions, besides: readonly string[]) => ReturnType<typeof rateLimit>

const mountIn =
  (limitOf: LimitOf, make = build): Mount =>
  (options, { timeout, inner, onHandled, besides, limited }) => {
    const app = make()
    app.addHook('onRequest', (_, reply, done) => {
      void timeout.then(() => reply.code(503).send())
      done()
    })
    for (const each of [options, ...inner]) app.addHook('onRequest', limited(limitOf(each, besides)))
    app.all('*', async (request) => {
      onHandled()
      return { rateLimit: decisionOf(request) }
    })
    return listening(app)
  }

testAdapter(test, mountIn(rateLimit), boundsOf())

if (!areOldest) describe('lean', () => testAdapter(test, mountIn(leanRateLimit(lean) as LimitOf)))

describe('over HTTP/2', () => {
  testAdapter(
    test,
    mountIn(rateLimit, () => build({ http2: true } as FastifyServerOptions)),
    boundsOf(),
  )
})

test('limits a single route as its hook', async () => {
  const app = build()
  app.get('/limited', { onRequest: rateLimit({ quota: perMinute(1) }) }, async () => 'ok')
  app.get('/free', async () => 'ok')
  const send = await listening(app)
  const statuses: number[] = []
  for (const path of ['/limited', '/limited', '/free', '/free']) statuses.push((await send({ path })).status)
  expect(statuses).toEqual([200, 429, 200, 200])
})

test('limits requests without a route', async () => {
  const app = build()
  app.addHook('onRequest', rateLimit({ quota: perMinute(1) }))
  const send = await listening(app)
  expect([(await send()).status, (await send()).status]).toEqual([404, 429])
})

test('lets a failing store reach the error handler of the app', async () => {
  const app = build()
  const store = { take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) }
  app.addHook('onRequest', rateLimit({ quota: perMinute(1), store, onStoreError: 'throw' }))
  app.setErrorHandler((error: Error, _, reply) => reply.code(503).send(error.name))
  app.get('/', async () => 'ok')
  const send = await listening(app)
  const { status, body } = await send()
  expect([status, body]).toEqual([503, 'StoreError'])
})

test('uses the trustProxy setting of the app', async () => {
  const app = build({ trustProxy: '127.0.0.1' })
  app.addHook('onRequest', rateLimit({ quota: perMinute(1) }))
  app.get('/', async () => 'ok')
  const send = await listening(app)
  const statuses: number[] = []
  for (const from of ['10.0.0.1', '10.0.0.2', 'spoofed, 10.0.0.1']) {
    statuses.push((await send({ headers: { 'x-forwarded-for': from } })).status)
  }
  expect(statuses).toEqual([200, 200, 429])
})

test('refunds a failed request', async () => {
  const app = build()
  app.addHook('onRequest', rateLimit({ quota: perMinute(2), refundIf: (status) => status >= 500 }))
  app.get('/fails', async () => {
    throw new Error('no')
  })
  const send = await listening(app)
  const left: unknown[] = []
  for (let i = 0; i < 3; i++) left.push((await send({ path: '/fails' })).headers.ratelimit)
  expect(left).toEqual(Array(3).fill('"default";r=1;t=30'))
})

// A registered plugin treated the app as a request, threw where no code could catch it, and ended the process.
describe('registered as a plugin', () => {
  test('limits all routes of the app, whenever they were added', async () => {
    const app = build()
    app.get('/before', async () => 'ok')
    await app.register(rateLimit({ quota: perMinute(2) }))
    app.get('/after', async () => 'ok')
    await app.register((child, _, done) => {
      child.get('/child', async () => 'ok')
      done()
    })
    const send = await listening(app)
    const statuses: number[] = []
    for (const path of ['/before', '/after', '/child']) statuses.push((await send({ path })).status)
    expect(statuses).toEqual([200, 200, 429])
  })

  test('limits the routes of the plugin it is registered in, and no others', async () => {
    const app = build()
    await app.register((child, _, done) => {
      void child.register(rateLimit({ quota: perMinute(1) }))
      child.get('/limited', async () => 'ok')
      done()
    })
    app.get('/free', async () => 'ok')
    const send = await listening(app)
    const statuses: number[] = []
    for (const path of ['/limited', '/limited', '/free']) statuses.push((await send({ path })).status)
    expect(statuses).toEqual([200, 429, 200])
  })
})

// The limiter limited the whole app, whatever the prefix.
test('app.register(rateLimit(…), { prefix }) is an error', async () => {
  const app = build()
  app.register(rateLimit({ quota: perMinute(1) }), { prefix: '/api' })
  await expect(app.ready()).rejects.toThrow('app.register(rateLimit(…), { prefix }) limits the whole app.')
  // Loaders pass the options of an app to all plugins.
  const other = build()
  other.register(rateLimit({ quota: perMinute(1) }), { logLevel: 'warn', dir: '/' } as never)
  await other.ready()
})

// It limited nothing, without a word.
test('warns of a limiter that runs after the response', async () => {
  const warned: string[] = []
  const limit = rateLimit({ quota: perMinute(1), logger: { warn: (message) => warned.push(message) } })
  const app = build()
  app.addHook('onResponse', limit as never)
  app.get('/', { onRequest: limit }, async () => 'ok')
  const send = await listening(app)
  for (const status of [200, 429]) expect((await send()).status).toBe(status)
  expect(warned).toEqual([expect.stringContaining('rateLimit(…) runs after the response, where it limits nothing.')])
})

// The options of @fastify/rate-limit for a route were ignored, so that a login had no limit of its own.
describe('config.rateLimit of a route', () => {
  const config = { rateLimit: { max: 3, timeWindow: '1 minute' } }
  const advice = 'Write { onRequest: rateLimit({ name: '

  test.each([config, { rateLimit: false }])('is an error after app.register(rateLimit(…)): %j', async (config) => {
    const app = build()
    await app.register(rateLimit({ quota: perMinute(9) }))
    expect(() => app.post('/login', { config }, async () => 'ok')).toThrow(advice)
    app.post('/free', { config: { rateLimit: undefined, other: 1 } as never }, async () => 'ok')
  })

  test('belongs to @fastify/rate-limit if that is registered, too', async () => {
    const app = build()
    app.decorate('rateLimit', (() => {}) as never)
    await app.register(rateLimit({ quota: perMinute(9) }))
    app.post('/login', { config }, async () => 'ok')
    await app.ready()
  })

  test.each(['added as a hook', 'registered after the route'])('is logged once by a limiter %s', async (how) => {
    const warned: string[] = []
    const limit = rateLimit({ quota: perMinute(9), logger: { warn: (message) => warned.push(message) } })
    const app = build()
    app.get('/free', async () => 'ok')
    app.get('/login', { config }, async () => 'ok')
    if (how === 'added as a hook') app.addHook('onRequest', limit)
    else app.register(limit)
    const send = await listening(app)
    await send({ path: '/free' })
    expect(warned).toEqual([])
    for (let i = 0; i < 2; i++) expect((await send({ path: '/login' })).status).toBe(200)
    expect(warned).toEqual([
      expect.stringMatching(/^spillway: .*"\/login".*Write \{ onRequest: .*#warn_spillway_route_config]$/),
    ])
  })

  test('does not fail a request if the logger fails', async () => {
    const app = build()
    const warn = () => Promise.reject(new Error('no log'))
    app.addHook('onRequest', rateLimit({ quota: perMinute(9), logger: { warn } as never }))
    app.get('/login', { config }, async () => 'ok')
    expect((await (await listening(app))({ path: '/login' })).status).toBe(200)
  })
})

// It was called an option named "ready", which rateLimit does not have.
test('app.register(rateLimit, options) is an error that says how it is registered', () => {
  expect(() => rateLimit(build() as never)).toThrow(
    'rateLimit takes its options itself: app.register(rateLimit({ quota',
  )
})

// If every proxy is trusted, any client can choose its key: there was no warning.
test('warns once of an app that trusts every proxy, and only of that', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const serve = async (setting: unknown) => {
    const app = build({ trustProxy: setting } as FastifyServerOptions)
    app.addHook('onRequest', rateLimit({ quota: perMinute(9) }))
    app.get('/', async () => 'ok')
    await (await listening(app))()
  }
  for (const setting of [false, 1, 'loopback', '10.0.0.0/8', () => false]) await serve(setting)
  expect(warn).not.toHaveBeenCalled()
  for (const setting of [true, () => true, true]) await serve(setting)
  expect(warn).toHaveBeenCalledOnce()
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('trustProxy: 1'))
})
