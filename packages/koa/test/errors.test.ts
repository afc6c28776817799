import { fakeClock } from '@spillway/conformance'
import Koa from 'koa'
import request from 'supertest'
import { expect, test } from 'vitest'
import { memoryStore, perMinute, rateLimit } from '../src/index.ts'

// Reproduces a bug: the headers of one client stayed on the error, and were sent to others.
test('an error that is thrown for several requests does not keep the headers of one', async () => {
  const own = { 'x-own': 'kept' }
  const shared = Object.assign(new Error('Not Found'), { status: 404, headers: own })
  const app = new Koa()
  app.silent = true
  const store = memoryStore({ clock: fakeClock() })
  const key = () => 'ann'
  app.use(rateLimit({ name: 'a', quota: perMinute(9), key, match: { path: '/api/*' }, store }))
  app.use(rateLimit({ name: 'b', quota: perMinute(6), key, match: { path: '/api/*' }, store }))
  app.use(() => {
    throw shared
  })
  const handle = app.callback()
  for (const [path, limit] of [
    ['/api', '"a";r=8;t=7, "b";r=5;t=10'],
    ['/free', undefined],
    ['/api', '"a";r=7;t=7, "b";r=4;t=10'],
  ] as const) {
    const { status, headers } = await request(handle).get(path)
    expect([status, headers['x-own'], headers['ratelimit']]).toEqual([404, 'kept', limit])
    expect(shared.headers).toBe(own)
  }
})

test('an error without headers has none later', async () => {
  const shared = new Error('no')
  const app = new Koa()
  app.silent = true
  app.use(rateLimit({ quota: perMinute(9), key: () => 'ann' }))
  app.use(() => {
    throw shared
  })
  const { headers } = await request(app.callback()).get('/')
  expect([headers['ratelimit'], 'headers' in shared]).toEqual(['"default";r=8;t=7', false])
})

// Reproduces a bug: the headers were added to the error, so an error that has no place for them was sent without.
test.each<[string, unknown]>([
  ['what is no Error', 'no'],
  ['an error whose headers cannot be replaced', Object.defineProperty(new Error('no'), 'headers', { get: () => ({}) })],
])('the answer to %s has the headers of the limiter, and no others', async (_, error) => {
  const app = new Koa()
  app.silent = true
  app.use(rateLimit({ name: 'a', quota: perMinute(9), key: () => 'ann' }))
  app.use(rateLimit({ name: 'b', quota: perMinute(6), key: () => 'ann' }))
  app.use((ctx) => {
    ctx.set('X-Page', 'of the handler')
    return Promise.reject(error)
  })
  const { status, headers } = await request(app.callback()).get('/')
  expect([status, headers['ratelimit'], headers['x-page']]).toEqual([500, '"a";r=8;t=7, "b";r=5;t=10', undefined])
})

test('an error that other middleware throws after the limiter is answered with its headers', async () => {
  const app = new Koa()
  app.silent = true
  app.use(async (_, next) => {
    await next()
    throw new Error('no')
  })
  app.use(rateLimit({ quota: perMinute(9), key: () => 'ann' }))
  const { status, headers } = await request(app.callback()).get('/')
  expect([status, headers['ratelimit']]).toEqual([500, '"default";r=8;t=7'])
})
