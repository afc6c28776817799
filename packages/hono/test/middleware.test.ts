import { fakeClock } from '@spillway/conformance'
import { Hono, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { etag } from 'hono/etag'
import { methodOverride } from 'hono/method-override'
import { expect, test } from 'vitest'
import { memoryStore, perMinute, rateLimit } from '../src/index.ts'

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
