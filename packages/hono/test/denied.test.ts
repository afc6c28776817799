import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { perMinute, type RateLimitOptions, rateLimit } from '../src/index.ts'

// onDenied answers itself, like a Hono handler.

test.each<[string, RateLimitOptions['onDenied'], number, string]>([
  ['a page', (c) => c.html('<h1>Slow down.</h1>', 429), 429, '<h1>Slow down.</h1>'],
  ['a redirection', async (c) => c.redirect('/slow'), 302, ''],
  ['a Response of its own', () => new Response('busy', { status: 503 }), 503, 'busy'],
  ['an immutable Response', () => Response.redirect('http://localhost/slow', 302), 302, ''],
  [
    'the response that it set on the context',
    (c, _decision, _same) => {
      c.res = new Response('busy', { status: 503 })
    },
    503,
    'busy',
  ],
])('%s is sent as it is, with the headers', async (_, onDenied, status, text) => {
  const app = new Hono()
  app.use(async (c, next) => {
    await next()
    c.header('X-After', 'yes')
  })
  app.use(rateLimit({ quota: perMinute(1), key: () => 'a', ...(onDenied && { onDenied }) }))
  app.get('/', (c) => c.text('ok'))
  await app.request('/')
  const response = await app.request('/')
  expect([response.status, await response.text()]).toEqual([status, text])
  expect([response.headers.get('ratelimit'), response.headers.get('x-after')]).toEqual(['"default";r=0;t=60', 'yes'])
})
