import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { fakeClock, type NeutralRequest, sendTo } from '@spillway/conformance'
import { rateLimit, settled } from '@spillway/hono'
import { memoryStore, perMinute, rateLimiter } from '@spillway/memory'
import { type Context, Hono } from 'hono'
import { expect, test } from 'vitest'

// On Node, an app passes its bindings on when it makes requests by itself: they name the connection of another request.

function setUp(options: object) {
  const store = memoryStore({ clock: fakeClock() })
  const limit = rateLimit({ quota: perMinute(10), key: () => 'ann', store, ...options })
  const left = async () => (await rateLimiter({ quota: perMinute(10), store }).peek('ann')).remaining
  return { limit, left }
}

const serve = async (app: Hono) => {
  const send = await sendTo(createServer(getRequestListener(app.fetch)))
  return async (request: NeutralRequest) => JSON.parse((await send(request)).body)
}

// Reproduces a bug: each took the status of the batch, 200, so that no wrong password was counted.
test('each request that an app makes is settled by its own status', async () => {
  const { limit, left } = setUp({ countIf: [401] })
  const app = new Hono()
  app.use('/login', limit)
  app.post('/login', (c) => c.text('wrong', 401))
  app.post('/batch', async (c) => {
    const statuses: number[] = []
    for (let i = 0; i < 3; i++) {
      const response = await app.request('/login', { method: 'POST' }, c.env)
      await response.text()
      statuses.push(response.status)
    }
    return c.json(statuses)
  })
  const send = await serve(app)
  expect(await send({ path: '/batch', method: 'POST' })).toEqual([401, 401, 401])
  expect(await left()).toBe(7)
})

// Reproduces a bug: requests for the path of the request that makes them were not counted.
test.each(['POST', 'PUT'])('each %s that an app makes for its own path is counted', async (method) => {
  const { limit, left } = setUp({})
  const app = new Hono()
  const decided = (c: Context) => c.json(limit.decisionOf(c)?.remaining)
  app.use(limit)
  app.on(['POST', 'PUT'], '/login', async (c) => {
    if (c.req.header('x-part')) return decided(c)
    const parts: unknown[] = []
    for (let i = 0; i < 3; i++) {
      const response = await app.request('/login', { method, headers: { 'x-part': '1' } }, c.env)
      parts.push(await response.json())
    }
    return c.json([...parts, limit.decisionOf(c)?.remaining])
  })
  const send = await serve(app)
  // One with another method cannot be distinguished from the request that methodOverride makes.
  expect(await send({ path: '/login', method: 'POST' })).toEqual(method === 'POST' ? [8, 7, 6, 9] : [9, 8, 7, 9])
  expect(await left()).toBe(method === 'POST' ? 6 : 7)
})

// Reproduces a bug: they took the status of the request for the same path that makes them, 200, and were refunded.
test.each([{ countIf: [401] }, { refundIf: (status: number) => status !== 401 }])(
  'each request that an app makes for its own path is settled by its own status: %o',
  async (options) => {
    const { limit, left } = setUp(options)
    const app = new Hono()
    app.use(limit)
    app.post('/login', async (c) => {
      if (c.req.header('x-part')) return c.text('wrong', 401)
      const statuses: number[] = []
      for (let i = 0; i < 3; i++) {
        const response = await app.request('/login', { method: 'POST', headers: { 'x-part': '1' } }, c.env)
        await response.text()
        statuses.push(response.status)
      }
      return c.json(statuses)
    })
    const send = await serve(app)
    expect(await send({ path: '/login', method: 'POST' })).toEqual([401, 401, 401])
    await settled()
    expect(await left()).toBe(7)
  },
)
