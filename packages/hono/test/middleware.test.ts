import { fakeClock } from '@spillway/conformance'
import { Hono, type MiddlewareHandler } from 'hono'
import { bearerAuth } from 'hono/bearer-auth'
import { bodyLimit } from 'hono/body-limit'
import { every, except, some } from 'hono/combine'
import { etag } from 'hono/etag'
import { HTTPException } from 'hono/http-exception'
import { methodOverride } from 'hono/method-override'
import { describe, expect, test } from 'vitest'
import { memoryStore, perMinute, rateLimit, settled } from '../src/index.ts'

// Beside Hono's own middleware that replaces requests, which Hono 4.0 does not have.

/** The bindings that the Node server would pass. */
const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } })

// Such middleware replaces c.req.raw, by which a limiter once identified requests. docs/guides/failure.md describes it.
// On the Node server the request is counted once: test/transports.test.ts.
test('without the Node server, counts a request twice behind methodOverride and once before it', async () => {
  const remainingWhere = async (mount: (app: Hono, limit: MiddlewareHandler) => void): Promise<unknown> => {
    const limit = rateLimit({ quota: perMinute(10), store: memoryStore({ clock: fakeClock() }) })
    const app = new Hono()
    mount(app, limit)
    app.delete('/', (c) => c.json(limit.decisionOf(c)?.remaining))
    return (await app.request('/', { method: 'POST', headers: { 'x-method': 'DELETE' } }, from('203.0.113.7'))).json()
  }
  const override = (app: Hono) => methodOverride({ app, header: 'x-method' })
  expect(await remainingWhere((app, limit) => app.use(limit, override(app)))).toBe(8)
  expect(await remainingWhere((app, limit) => app.use(override(app), limit))).toBe(9)
})

test('recognises a request whose body bodyLimit has read', async () => {
  const limit = rateLimit({ quota: perMinute(10), store: memoryStore({ clock: fakeClock() }) })
  const app = new Hono()
  app.use(limit, bodyLimit({ maxSize: 100 }), limit)
  app.post('/', async (c) => c.json([await c.req.text(), limit.decisionOf(c)?.remaining]))
  const response = await app.request('/', { method: 'POST', body: 'hello' })
  expect(response.headers.get('ratelimit')).toBe('"default";r=9;t=6')
  expect(await response.json()).toEqual(['hello', 9])
})

// docs/guides/headers.md describes it.
test('a 304 of etag has the headers of a limiter that is mounted before it', async () => {
  const fieldWhere = async (mount: (app: Hono, limit: MiddlewareHandler) => void): Promise<unknown> => {
    const app = new Hono()
    mount(app, rateLimit({ quota: perMinute(10), key: () => 'ann', store: memoryStore({ clock: fakeClock() }) }))
    app.get('/', (c) => c.text('page'))
    const first = await app.request('/')
    const { status, headers } = await app.request('/', {
      headers: { 'if-none-match': first.headers.get('etag') ?? '' },
    })
    return [status, headers.get('ratelimit')]
  }
  expect(await fieldWhere((app, limit) => app.use(limit, etag()))).toEqual([304, '"default";r=8;t=6'])
  expect(await fieldWhere((app, limit) => app.use(etag(), limit))).toEqual([304, null])
})

/** An error that the app answers with 401 itself. */
class WrongToken extends Error {}

const wrongToken: MiddlewareHandler = async () => {
  throw new WrongToken('no')
}

const combinations: Readonly<
  Record<string, (limit: MiddlewareHandler, auth: MiddlewareHandler) => MiddlewareHandler[]>
> = {
  'one after the other': (limit, auth) => [limit, auth],
  every: (limit, auth) => [every(limit, auth)],
  'every in every': (limit, auth) => [every(every(limit), every(auth))],
  'every in some': (limit, auth) => [some(every(limit, auth))],
  'the second of some': (limit, auth) => [some(() => false, every(limit, auth))],
  except: (limit, auth) => [except('/public', limit, auth)],
  'two limiters': (limit, auth) => [
    every(rateLimit({ name: 'outer', quota: perMinute(9), refundIf: () => false }), limit, auth),
  ],
}

const errorHandlers: Readonly<Record<string, (app: Hono) => unknown>> = {
  'no error handler': () => {},
  'a new Response': (app) => app.onError((error) => new Response(error.message, { status: 401 })),
  'the response of the exception': (app) =>
    app.onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text(error.message, 401))),
}

// Reproduces: without the Node server, what `every` throws was taken for a 500, so that no wrong token counted: ten requests,
// ten 401s. A new Response of an error handler lacked the headers.
describe.each(Object.entries(combinations))('wrong tokens: %s', (_name, combine) => {
  describe.each(Object.entries(errorHandlers))('%s', (answers, answerErrors) => {
    const auths = { bearerAuth: bearerAuth({ token: 'right' }), 'an error of the app': wrongToken }
    test.each(Object.entries(auths).filter(([auth]) => answers !== 'no error handler' || auth === 'bearerAuth'))(
      'are counted by the status that is sent: %s',
      async (_, auth) => {
        const store = memoryStore({ clock: fakeClock() })
        const limit = rateLimit({ quota: perMinute(2), key: () => 'ann', countIf: [401], store })
        const app = new Hono()
        app.use(...combine(limit, auth))
        app.get('/', (c) => c.text('secret'))
        answerErrors(app)
        const answered: unknown[] = []
        for (let i = 0; i < 4; i++) {
          const response = await app.request('/', { headers: { authorization: 'Bearer wrong' } })
          const limits = response.headers.get('ratelimit')?.split(', ').at(-1)
          answered.push([response.status, limits])
          await response.text()
          await settled()
        }
        const denied = [429, '"default";r=0;t=30']
        expect(answered).toEqual([[401, '"default";r=1;t=30'], [401, '"default";r=0;t=30'], denied, denied])
      },
    )
  })
})

test('a status that some other middleware answers instead is the one that counts', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const limit = rateLimit({ quota: perMinute(2), key: () => 'ann', countIf: [401], store })
  const app = new Hono()
  app.use(some(every(limit, wrongToken), () => true))
  app.get('/', (c) => c.text('public'))
  for (let i = 0; i < 4; i++) {
    const response = await app.request('/')
    expect([response.status, await response.text()]).toEqual([200, 'public'])
    await settled()
  }
})

// Hono then returns the answer of the error handler without setting it.
test.each<[string, MiddlewareHandler, number[]]>([
  ['an exception counts by its status', bearerAuth({ token: 'right' }), [401, 401, 429]],
  ['any other error counts', wrongToken, [401, 401, 429]],
])('of the only handler of a request, %s', async (_, auth, expected) => {
  const limit = rateLimit({ quota: perMinute(2), key: () => 'ann', countIf: [401], store: memoryStore() })
  const app = new Hono()
  app.use(every(limit, auth))
  app.onError((error, c) => c.text(error.message, 401))
  const statuses: number[] = []
  for (const _each of expected) {
    statuses.push((await app.request('/', { headers: { authorization: 'Bearer wrong' } })).status)
    await settled()
  }
  expect(statuses).toEqual(expected)
})

// The server answers with 500, which Hono does not report: the failure modes say so.
test('a request stays counted if the error handler itself throws', async () => {
  const calls: string[] = []
  const record = (name: string) => () => calls.push(name) > 0
  const limit = rateLimit({
    quota: perMinute(2),
    key: () => 'ann',
    refundIf: record('refundIf'),
    countIf: record('countIf'),
    store: memoryStore(),
  })
  const app = new Hono()
  app.use(limit)
  app.get('/', wrongToken)
  app.onError(async (error) => {
    throw error
  })
  const answers: unknown[] = []
  for (let i = 0; i < 3; i++) {
    answers.push(
      await Promise.resolve(app.request('/')).then(
        ({ status }) => status,
        (error: Error) => error.constructor.name,
      ),
    )
    await settled()
  }
  expect([answers, calls]).toEqual([['WrongToken', 'WrongToken', 429], []])
})
