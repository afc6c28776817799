import { fakeClock } from '@spillway/conformance'
import Koa from 'koa'
import request from 'supertest'
import { expect, test } from 'vitest'
import { decisionOf, memoryStore, perMinute, rateLimit } from '../src/index.ts'

// Reproduces a bug: after it, the second limiter replaced the headers of the first, or failed.
test.each<[string, unknown]>([
  ['an empty object', {}],
  ['a frozen object', Object.freeze({ user: 'ann' })],
  ['null', null],
  ['what no decision is in', undefined],
])('two limiters report both, if the app sets the state to %s between them', async (_, state) => {
  const store = memoryStore({ clock: fakeClock() })
  const app = new Koa()
  app.use(rateLimit({ name: 'a', quota: perMinute(9), key: () => 'ann', store }))
  app.use((ctx, next) => {
    Object.assign(ctx, { state })
    return next()
  })
  app.use(rateLimit({ name: 'b', quota: perMinute(6), key: () => 'ann', match: { method: 'GET' }, store }))
  app.use((ctx) => {
    ctx.body = decisionOf(ctx)?.policy
  })
  const [get, post] = [await request(app.callback()).get('/'), await request(app.callback()).post('/')]
  expect([get.status, get.headers['ratelimit'], get.text]).toEqual([200, '"a";r=8;t=7, "b";r=5;t=10', 'b'])
  expect([post.status, post.headers['ratelimit'], post.text]).toEqual([200, '"a";r=7;t=7', 'a'])
})
