import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import http2 from 'node:http2'
import { fakeClock, faultyStore, modelStore, type Send, sendTo } from '@spillway/conformance'
import { rateLimit as forExpress } from '@spillway/express'
import connect from 'connect'
import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import { decisionOf, perMinute, type RateLimitOptions, type RequestDecision, rateLimit, settled } from '../src/index.ts'
import { hosts, type Middleware } from './hosts.ts'

const inMemory = () => modelStore(fakeClock())

/** A server that calls a limiter by itself. */
const serve = (handler: (req: IncomingMessage, res: ServerResponse) => unknown): Promise<Send> =>
  sendTo(createServer((req, res) => void handler(req, res)))

describe.each(['HTTP/1.1', 'HTTP/2'])('without next, over %s', (protocol) => {
  const start = (handler: (req: IncomingMessage, res: ServerResponse) => unknown): Promise<Send> =>
    protocol === 'HTTP/2'
      ? sendTo(http2.createServer((req, res) => void handler(req as never, res as never)))
      : serve(handler)

  test('resolves to whether the request is allowed, and answers one that is not', async () => {
    const limit = rateLimit({ quota: perMinute(1), store: faultyStore(inMemory()) })
    const allowed: boolean[] = []
    const send = await start(async (req, res) => {
      allowed.push(await limit(req, res))
      if (allowed.at(-1)) res.end(String(limit.decisionOf(req)?.remaining))
    })
    const [first, second] = [await send(), await send()]
    expect([first.status, first.body, second.status, allowed]).toEqual([200, '0', 429, [true, false]])
  })

  test('answers with 500, and logs once, if the limiter fails', async () => {
    const logger = { warn: vi.fn() }
    const failing = faultyStore(inMemory())
    failing.break('failing')
    const options = { quota: perMinute(1), store: failing, onStoreError: 'throw', logger } as const
    for (const limit of [
      rateLimit(options),
      rateLimit({ ...options, name: 'keyed', key: () => Promise.reject(new Error('of a key')) }),
    ]) {
      const send = await start(async (req, res) => {
        if (await limit(req, res)) res.end('served')
      })
      const { status, headers, body } = await send()
      expect([status, headers['content-type'], body]).toEqual([
        500,
        'text/plain; charset=utf-8',
        'Internal Server Error',
      ])
      expect((await send({ method: 'HEAD' })).status).toBe(500)
    }
    const warnings = logger.warn.mock.calls.filter(([message]) => String(message).includes('warn_spillway_next'))
    expect(warnings).toEqual([[expect.stringContaining('connection lost')], [expect.stringContaining('of a key')]])
  })
})

// The error of a handler called `next` again, with that error: the handler ran twice for one request.
test('an error that next throws is thrown to its caller, and calls next no second time', async () => {
  const thrown = new Error('of a handler')
  const next = vi.fn(() => {
    throw thrown
  })
  const caught: unknown[] = []
  const limit = rateLimit({ quota: perMinute(9), store: inMemory() })
  const send = await serve((req, res) => {
    try {
      limit(req, res, next)
    } catch (error) {
      caught.push(error)
      res.end()
    }
  })
  await send()
  expect([caught, next.mock.calls]).toEqual([[thrown], [[]]])
})

test('next gets the error if it takes one', async () => {
  const failing = faultyStore(inMemory())
  failing.break('failing')
  const limit = rateLimit({ quota: perMinute(9), store: failing, onStoreError: 'throw', logger: { warn: () => {} } })
  const send = await serve((req, res) => limit(req, res, (error) => res.end((error as Error).name)))
  expect((await send()).body).toBe('StoreError')
})

// Reproduces a bug: the status of Node's response is 200 until something sets it, so that no 401 counted.
test('a response that a handler sends by its HTTP/2 stream counts by its status', async () => {
  const limit = rateLimit({ quota: perMinute(2), key: () => 'ann', countIf: [401], store: inMemory() })
  const server = http2.createServer((req, res) =>
    limit(req, res, () => {
      res.stream.respond({ ':status': 401 }, { endStream: true })
    }),
  )
  const send = await sendTo(server)
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) {
    statuses.push((await send()).status)
    await settled()
  }
  expect(statuses).toEqual([401, 401, 429, 429])
})

test('limiters of Node and of Express share the headers of a request', async () => {
  const app = connect()
  app.use(rateLimit({ name: 'outer', quota: perMinute(9), store: inMemory() }))
  app.use(forExpress({ name: 'inner', quota: perMinute(5), store: inMemory() }))
  app.use((req, res) => res.end(decisionOf(req)?.policy))
  const { headers, body } = await (await sendTo(createServer(app)))()
  expect([headers['ratelimit'], body]).toEqual(['"outer";r=8;t=7, "inner";r=4;t=12', 'inner'])
})

/** The statuses of requests for paths, whose limit of one is for a path below a mount. */
async function statusesFor(name: string, options: Partial<RateLimitOptions>, paths: readonly string[], mount?: string) {
  const limit = rateLimit({ quota: perMinute(1), store: inMemory(), ...options } as RateLimitOptions) as Middleware
  const send = await sendTo(await (hosts[name] as (typeof hosts)[string])([limit], (_, res) => res.end(), mount))
  const statuses: number[] = []
  for (const path of paths) statuses.push((await send({ path })).status)
  return statuses
}

const mounting = ['connect', 'polka', 'polka 1', 'router', '@fastify/middie', 'NestJS on Fastify']

describe.each(mounting)('mounted below a prefix, in %s', (name) => {
  test('match and skip are for the whole path', async () => {
    const paths = ['/api/login', '/api/login?x=1', '/api/other', '/api/other']
    expect(await statusesFor(name, { match: { path: '/api/login' } }, paths, '/api')).toEqual([200, 429, 200, 200])
    expect(await statusesFor(name, { skip: { path: '/api/login' } }, paths, '/api')).toEqual([200, 200, 200, 429])
  })

  test('a pattern for all paths but the root is none for the root of the mount', async () => {
    expect(await statusesFor(name, { match: { path: '/' } }, ['/api', '/api', '/api/'], '/api')).toEqual([
      200, 200, 200,
    ])
  })
})

// Code that routes by hand reads the path as `new URL(req.url, base)` does, or as it is written.
test.each(['node:http', 'node:http2', 'connect', 'polka', 'router'])(
  'no spelling of a path evades a limit in %s',
  async (name) => {
    const spellings = [
      '//a/login',
      '/x/../login',
      '/LOGIN',
      '/login/',
      '/login;a',
      '/%6cogin',
      '/login#a',
      '/\\a/login',
    ]
    const absolute = name === 'node:http2' ? [] : ['http://a/login', 'http://a/login?x=/']
    for (const path of [...spellings, ...absolute]) {
      const statuses = await statusesFor(name, { match: { path: '/login' } }, [path, path])
      expect([path, statuses[1]]).toEqual([path, 429])
    }
  },
)

// In one reading it is another path: the client must not choose the one that is skipped.
test.each(['node:http', 'connect', 'polka', 'router'])('no spelling of a path is skipped in %s', async (name) => {
  for (const path of ['//a/health', '/health#/../login', '/health;/../login', '/login/../health']) {
    const statuses = await statusesFor(name, { skip: { path: '/health' } }, [path, path, '/health'])
    expect([path, ...statuses]).toEqual([path, 200, 429, 200])
  }
})

test('a rewritten path has the limit of what it is rewritten to, and of what was requested', async () => {
  const limit = rateLimit({ quota: perMinute(1), match: { path: ['/login', '/en/login'] }, store: inMemory() })
  const app = connect()
  app.use((req, _res, next) => {
    if (req.url === '/other') req.url = '/login'
    next()
  })
  app.use(limit as connect.NextHandleFunction)
  app.use((_req, res) => res.end())
  const send = await sendTo(createServer(app))
  const statuses = [await send({ path: '/other' }), await send({ path: '/login' })].map(({ status }) => status)
  expect(statuses).toEqual([200, 429])
})

// The compiler checks these.
test('a limiter has the types of Node, and the names of its policies', () => {
  const limit = rateLimit({
    policies: [{ name: 'burst', quota: perMinute(1), key: (req) => req.headers.host }],
    onDenied: (req, { policy }, res) => {
      expectTypeOf(req).toEqualTypeOf<IncomingMessage>()
      expectTypeOf(policy).toEqualTypeOf<'burst' | 'burst (blocked)'>()
      res.statusCode = 503
      return res
    },
  })
  const app = connect().use(limit)
  createServer(app).on('request', (req, res) => {
    expectTypeOf(limit.decisionOf(req)).toEqualTypeOf<RequestDecision<'burst'> | undefined>()
    expectTypeOf(limit(req, res)).toEqualTypeOf<Promise<boolean>>()
  })
  http2.createServer((req, res) => limit(req, res, () => res.end()))
  expect(limit).toBeTypeOf('function')
})
