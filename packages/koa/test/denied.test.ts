import Koa from 'koa'
import request from 'supertest'
import { expect, test } from 'vitest'
import { perMinute, type RateLimitOptions, rateLimit } from '../src/index.ts'

// onDenied answers itself, like Koa middleware.

test.each<[string, RateLimitOptions['onDenied'], number, string]>([
  ['redirects', (ctx) => ctx.redirect('/slow'), 302, 'Redirecting to /slow.'],
  [
    'sets the response',
    (ctx) => {
      ctx.status = 503
      ctx.body = 'busy'
    },
    503,
    'busy',
  ],
  [
    'sets the response later, and returns the context',
    async (ctx) => {
      await new Promise((resolve) => setImmediate(resolve))
      ctx.status = 503
      ctx.body = 'busy'
      return ctx
    },
    503,
    'busy',
  ],
  [
    'writes to the response of Node',
    (ctx) => {
      ctx.respond = false
      ctx.res.statusCode = 503
      ctx.res.end('busy')
    },
    503,
    'busy',
  ],
])('it %s, and nothing more is sent', async (_, onDenied, status, text) => {
  const app = new Koa()
  app.use(rateLimit({ quota: perMinute(1), key: () => 'a', ...(onDenied && { onDenied }) }))
  app.use((ctx) => {
    ctx.body = 'ok'
  })
  const handle = app.callback()
  await request(handle).get('/')
  const response = await request(handle).get('/').accept('text')
  expect([response.status, response.text]).toEqual([status, text])
  expect(response.headers['ratelimit']).toBe('"default";r=0;t=60')
})
