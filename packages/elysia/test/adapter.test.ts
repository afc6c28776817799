import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { node } from '@elysiajs/node'
import {
  fakeClock,
  leanRateLimit,
  type Mount,
  type NeutralOptions,
  type Scene,
  sendInto,
  testAdapter,
} from '@spillway/conformance'
import { type AnyElysia, Elysia, t } from 'elysia'
import { describe, expect, test, vi } from 'vitest'
import { areOldest, boundsOf } from '../../../test/frameworks.ts'
import { unhandledRejections } from '../../../test/unhandled.ts'
import { decisionOf, memoryStore, perMinute, rateLimit, rateLimiter } from '../src/index.ts'
import * as lean from '../src/lean.ts'

const unhandled = unhandledRejections()

type LimitOf = (options: NeutralOptions, besides: readonly string[]) => ReturnType<typeof rateLimit>

function build(
  aot: boolean,
  options: NeutralOptions,
  { inner, onHandled, besides, limited }: Omit<Scene, 'timeout'>,
  limitOf: LimitOf = rateLimit,
): Elysia {
  const app = new Elysia({ aot })
  for (const each of [options, ...inner]) app.use(limited(limitOf(each, besides)))
  app.all('*', ({ request }) => {
    onHandled()
    return { rateLimit: decisionOf(request) }
  })
  return app
}

const mountIn =
  (aot: boolean, limitOf: LimitOf): Mount =>
  (options, scene) => {
    const app = build(aot, options, scene, limitOf)
    return sendInto((request) => {
      // A timeout in front of a limiter aborts the request's signal.
      const expired = new AbortController()
      const late = scene.timeout.then(() => {
        expired.abort()
        return new Response(null, { status: 503 })
      })
      const signal = AbortSignal.any([request.signal, expired.signal])
      return Promise.race([app.handle(new Request(request, { signal })), late])
    })
  }

describe.each([
  ['compiled', true],
  ['dynamic', false],
] as const)('%s', (_, aot) => {
  // `Request` has parsed the URL.
  const bounds = boundsOf({ parsesUrls: true })
  testAdapter(test, mountIn(aot, rateLimit), bounds)

  if (!areOldest) describe('lean', () => testAdapter(test, mountIn(aot, leanRateLimit(lean) as LimitOf), bounds))
})

const ann = { key: () => 'ann' }
const send = (app: AnyElysia, path = '/', init?: RequestInit) =>
  app.handle(new Request(`http://localhost${path}`, init))
const json = (body: unknown) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

test.each([true, false])(
  'counts what has no route, is invalid, fails or was mounted before it; aot: %s',
  async (aot) => {
    const store = memoryStore({ clock: fakeClock() })
    const app = new Elysia({ aot })
      .get('/early', () => 'ok')
      .use((app) => rateLimit({ ...ann, quota: perMinute(9), store })(app))
      .get('/later', () => 'ok')
      .get('/own', () => new Response('own', { headers: { 'x-own': 'kept' } }))
      .post('/valid', () => 'ok', { body: t.Object({ name: t.String() }) })
      .get('/fails', () => {
        throw new Error('no')
      })
    const answers: unknown[] = []
    for (const path of ['/early', '/later', '/own', '/fails', '/missing']) {
      const { status, headers } = await send(app, path)
      answers.push([path, status, headers.get('ratelimit')])
    }
    const { status, headers } = await send(app, '/valid', json({}))
    answers.push(['/valid', status, headers.get('ratelimit')])
    expect(answers).toEqual([
      ['/early', 200, '"default";r=8;t=7'],
      ['/later', 200, '"default";r=7;t=7'],
      ['/own', 200, '"default";r=6;t=7'],
      ['/fails', 500, '"default";r=5;t=7'],
      ['/missing', 404, '"default";r=4;t=7'],
      ['/valid', 422, '"default";r=3;t=7'],
    ])
  },
)

test.each([true, false])('settles when a response has been read, of any status; aot: %s', async (aot) => {
  const store = memoryStore({ clock: fakeClock() })
  const limit = rateLimit({
    ...ann,
    quota: perMinute(9),
    cost: 5,
    settle: () => 2,
    refundIf: (s) => s === 404,
    store,
  })
  const app = new Elysia({ aot }).use((app) => limit(app))
  app.get('/early', () => 'ok').get('/later', () => new Response(null, { status: 204 }))
  const left = async () => (await rateLimiter({ quota: perMinute(9), store }).peek('ann')).remaining
  for (const [path, remaining] of [
    ['/early', 7],
    ['/later', 5],
    ['/missing', 5],
  ] as const) {
    await (await send(app, path)).text()
    await vi.waitFor(async () => expect(await left(), path).toBe(remaining))
  }
})

type Use = (app: AnyElysia) => AnyElysia

/** Ways to use a limiter for `/g/x`: in the app, and in apps that it uses. */
const uses: Readonly<
  Record<string, (make: () => Elysia, config: { readonly aot?: boolean }, limit: Use) => AnyElysia>
> = {
  plugin: (make, config, limit) =>
    make().use(new Elysia({ ...config, prefix: '/g' }).use((app) => limit(app)).get('/x', () => 'ok')),
  'plugin in a plugin': (make, config, limit) =>
    make().use(make().use(new Elysia({ ...config, prefix: '/g' }).use((app) => limit(app)).get('/x', () => 'ok'))),
  group: (make, _, limit) => make().group('/g', (app) => (limit(app) as typeof app).get('/x', () => 'ok')),
  'plugin in a group': (make, config, limit) =>
    make().group('/g', (app) => app.use(new Elysia(config).use((app) => limit(app)).get('/x', () => 'ok'))),
  'named plugin in a group': (make, config, limit) =>
    make().group('/g', (app) =>
      app.use(new Elysia({ ...config, name: 'limits' }).use((app) => limit(app)).get('/x', () => 'ok')),
    ),
  'plugin in a guard': (make, config, limit) =>
    make().guard({}, (app) =>
      app.use(new Elysia({ ...config, prefix: '/g' }).use((app) => limit(app)).get('/x', () => 'ok')),
    ),
  'plugin in a plugin in a group in a plugin': (make, config, limit) =>
    make().use(
      make().group('/g', (app) =>
        app.use(make().use(new Elysia(config).use((app) => limit(app)).get('/x', () => 'ok'))),
      ),
    ),
  'plugin in two groups': (make, config, limit) => {
    const plugin = new Elysia(config).use((app) => limit(app)).get('/x', () => 'ok')
    return make()
      .group('/f', (app) => app.use(plugin))
      .group('/g', (app) => app.use(plugin))
  },
}

// Reproduces a bug: of a plugin that is used in a group or guard, or by an app with another `aot`, responses settled nothing.
describe.each(Object.entries(uses))('%s', (_, use) => {
  test.each([
    [true, {}],
    [false, {}],
    [false, { aot: false }],
    [true, { aot: false }],
  ])('calls countIf, refundIf and settle once; aot: %s, config of the plugin: %j', async (aot, config) => {
    const calls: string[] = []
    const call =
      <T>(name: string, returned: T) =>
      (): T => {
        calls.push(name)
        return returned
      }
    const store = memoryStore({ clock: fakeClock() })
    const limit = rateLimit({
      ...ann,
      quota: perMinute(9),
      cost: 5,
      countIf: call('countIf', true),
      refundIf: call('refundIf', false),
      settle: call('settle', 2),
      store,
    })
    const response = await send(
      use(
        () => new Elysia({ aot }),
        config,
        (app) => limit(app),
      ),
      '/g/x',
    )
    expect([response.headers.get('ratelimit'), await response.text()]).toEqual(['"default";r=4;t=7', 'ok'])
    const left = async () => (await rateLimiter({ quota: perMinute(9), store }).peek('ann')).remaining
    await vi.waitFor(async () => expect(await left()).toBe(7))
    expect(calls.sort()).toEqual(['countIf', 'refundIf', 'settle'])
  })
})

// Reproduces a bug: without compilation, a status that no response can have was thrown after the response, which ended the
// process; and a returned error was settled as a 200.
test.each([true, false])('settles a handler that fails without throwing as a 500; aot: %s', async (aot) => {
  const store = memoryStore({ clock: fakeClock() })
  const limit = rateLimit({ ...ann, quota: perMinute(9), refundIf: (status) => status === 500, store })
  const app = new Elysia({ aot }).use((app) => limit(app))
  app.get('/error', () => new Error('no'))
  app.get('/status', ({ set }) => {
    set.status = 101
    return 'no'
  })
  const left = async () => (await rateLimiter({ quota: perMinute(9), store }).peek('ann')).remaining
  for (const path of ['/error', '/status']) {
    const answered = send(app, path).then((response) => response.text())
    expect(await left(), path).toBe(8)
    await answered.catch(() => {})
    await vi.waitFor(async () => expect(await left(), path).toBe(9))
  }
  expect(unhandled).toEqual([])
})

// Reproduces a bug: Elysia fails to answer such an error, and the request kept its units.
test('settles a handler that throws undefined as a 500', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const limit = rateLimit({ ...ann, quota: perMinute(9), refundIf: (status) => status === 500, store })
  const app = new Elysia().use((app) => limit(app))
  app.get('/', async () => Promise.reject())
  await expect(send(app)).rejects.toThrow()
  await vi.waitFor(async () =>
    expect((await rateLimiter({ quota: perMinute(9), store }).peek('ann')).remaining).toBe(9),
  )
})

test('limits static responses', async () => {
  const app = new Elysia().use((app) => rateLimit({ ...ann, quota: perMinute(1) })(app)).get('/', 'ok')
  await send(app)
  expect((await send(app)).status).toBe(429)
})

// elysia-rate-limit passes the whole context on, from which Elysia infers that it has to parse every body.
test('never makes Elysia parse a body', async () => {
  const app = new Elysia().use((app) => rateLimit({ ...ann, quota: perMinute(9) })(app))
  app.post('/', ({ request }) => `${request.bodyUsed}`)
  expect(await (await send(app, '/', json({}))).text()).toBe('false')
})

test('limits an app once that is used in others, with and without a name', async () => {
  for (const name of [undefined, 'limits']) {
    const limited = new Elysia(name === undefined ? {} : { name })
    const store = memoryStore({ clock: fakeClock() })
    rateLimit({ ...ann, name: 'a', quota: perMinute(9), cost: 3, settle: () => 1, store })(limited)
    rateLimit({ ...ann, name: 'b', quota: perMinute(8), cost: 3, settle: () => 1, store })(limited)
    const app = new Elysia()
      .use(limited)
      .use(limited)
      .get('/', () => 'ok')
    const response = await send(app)
    expect([name, response.headers.get('ratelimit')]).toEqual([name, '"a";r=6;t=7, "b";r=5;t=8'])
    await response.text()
    const left = async (policy: string, n: number) =>
      (await rateLimiter({ name: policy, quota: perMinute(n), store }).peek('ann')).remaining
    await vi.waitFor(async () => expect([await left('a', 9), await left('b', 8)]).toEqual([8, 7]))
  }
})

test('keeps the headers that earlier hooks have set on a denial', async () => {
  const app = new Elysia()
  app.onRequest(({ set }) => {
    set.headers['x-request-id'] = 'r1'
  })
  rateLimit({ ...ann, quota: perMinute(1) })(app)
  app.get('/', 'ok')
  await send(app)
  const { status, headers } = await send(app)
  expect([status, headers.get('x-request-id'), headers.get('content-type')]).toEqual([
    429,
    'r1',
    'application/problem+json',
  ])
})

test('reads the address of the connection on the Node server, over HTTP', async () => {
  const app = new Elysia({ adapter: node() })
  app.use(rateLimit({ quota: perMinute(2) }))
  app.get('/', ({ request }) => `${decisionOf(request)?.remaining}`)
  const server = await new Promise<Server>((resolve) => {
    app.listen({ port: 0, hostname: '127.0.0.1' }, (running) =>
      resolve((running as unknown as { readonly node: { readonly server: Server } }).node.server),
    )
  })
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const answers: unknown[] = []
  for (const from of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) {
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'x-forwarded-for': from } })
    answers.push(response.status === 200 ? await response.text() : response.status)
  }
  server.closeAllConnections()
  server.close()
  expect(answers).toEqual(['1', '0', 429])
})

test('takes the address from Bun, whose server Elysia passes', async () => {
  const limit = rateLimit({ quota: perMinute(1) })
  const app = new Elysia().get('/', () => 'ok')
  limit(app)
  const statuses: number[] = []
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.1']) {
    app.server = { requestIP: () => ({ address, family: 'IPv4', port: 4 }) } as never
    statuses.push((await send(app)).status)
  }
  expect(statuses).toEqual([200, 200, 429])
})
