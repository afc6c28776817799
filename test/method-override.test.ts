import { createServer, type Server } from 'node:http'
import http2, { type Http2Server } from 'node:http2'
import { getRequestListener } from '@hono/node-server'
import { fakeClock, type NeutralRequest, sendTo } from '@spillway/conformance'
import { rateLimit } from '@spillway/hono'
import { memoryStore, perMinute } from '@spillway/memory'
import { type Context, Hono } from 'hono'
import { methodOverride } from 'hono/method-override'
import { expect, test } from 'vitest'

// It hands a new request to the whole app.
test.each<[string, (listener: ReturnType<typeof getRequestListener>) => Server | Http2Server]>([
  ['HTTP/1.1', (listener) => createServer(listener)],
  ['HTTP/2', (listener) => http2.createServer(listener)],
])('Hono counts a request once that methodOverride hands on over %s', async (_, serverOf) => {
  const limit = rateLimit({ quota: perMinute(10), store: memoryStore({ clock: fakeClock() }) })
  const app = new Hono()
  const decided = (c: Context) => c.json([c.req.method, limit.decisionOf(c)?.remaining])
  app.use(limit, methodOverride({ app, header: 'x-method' }))
  app.all('/', decided)
  app.post('/batch', async (c) => {
    const parts = [1, 2, 3].map(() => app.request('/', {}, c.env))
    return c.json(await Promise.all(parts.map(async (part) => (await part).json())))
  })
  const send = await sendTo(serverOf(getRequestListener(app.fetch)))
  const bodyOf = async (request: NeutralRequest) => JSON.parse((await send(request)).body)
  expect(await bodyOf({ path: '/?a=1', method: 'POST', headers: { 'x-method': 'DELETE' } })).toEqual(['DELETE', 9])
  // What an app makes up itself is counted each: else a batch of logins would be one.
  const made = [7, 6, 5].map((remaining) => ['GET', remaining])
  expect(await bodyOf({ path: '/batch', method: 'POST' })).toEqual(made)
})
