import { H3, type H3Event } from 'h3'
import { expect, test } from 'vitest'
import { perMinute, type RateLimitOptions, rateLimit } from '../src/index.ts'

test.each<[string, RateLimitOptions['onDenied'], number, string]>([
  ['a Response', () => new Response('busy', { status: 503 }), 503, 'busy'],
  ['a promise of one', async () => Response.json({ error: 'busy' }, { status: 429 }), 429, '{"error":"busy"}'],
  ['an immutable Response', () => Response.redirect('http://localhost/slow', 302), 302, ''],
])('onDenied may return %s, which is sent as it is, with the headers', async (_, onDenied, status, text) => {
  const app = new H3()
  app.use(rateLimit({ quota: perMinute(1), key: () => 'ann', ...(onDenied && { onDenied }) }))
  app.get('/', () => 'ok')
  await app.request('/')
  const response = await app.request('/')
  expect([response.status, await response.text(), response.headers.get('ratelimit')]).toEqual([
    status,
    text,
    '"default";r=0;t=60',
  ])
})

test('onDenied may set headers of the event', async () => {
  const app = new H3()
  const onDenied = (event: H3Event) => {
    event.res.errHeaders.set('x-reason', 'busy')
    return { status: 503 }
  }
  app.use(rateLimit({ quota: perMinute(1), key: () => 'ann', onDenied }))
  await app.request('/')
  const { status, headers } = await app.request('/')
  expect([status, headers.get('x-reason'), headers.get('retry-after')]).toEqual([503, 'busy', '60'])
})
