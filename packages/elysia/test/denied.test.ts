import { Elysia } from 'elysia'
import { expect, test } from 'vitest'
import { perMinute, type RateLimitOptions, rateLimit } from '../src/index.ts'

test.each<[string, RateLimitOptions['onDenied'], number, string]>([
  ['a Response', () => new Response('busy', { status: 503 }), 503, 'busy'],
  ['a promise of one', async () => Response.json({ error: 'busy' }, { status: 429 }), 429, '{"error":"busy"}'],
  ['an immutable Response', () => Response.redirect('http://localhost/slow', 302), 302, ''],
])('onDenied may return %s, which is sent as it is, with the headers', async (_, onDenied, status, text) => {
  const app = new Elysia().use(rateLimit({ quota: perMinute(1), key: () => 'ann', ...(onDenied && { onDenied }) }))
  await app.handle(new Request('http://localhost/'))
  const response = await app.handle(new Request('http://localhost/'))
  expect([response.status, await response.text(), response.headers.get('ratelimit')]).toEqual([
    status,
    text,
    '"default";r=0;t=60',
  ])
})
