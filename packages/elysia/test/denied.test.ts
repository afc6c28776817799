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

// Elysia answers an error in this hook with 200, unless the error has a status.
test.each([true, false])(
  'a limiter that throws is answered with 500, or the status of the error (aot: %s)',
  async (aot) => {
    const statusOf = async (options: Partial<RateLimitOptions>) => {
      const app = new Elysia({ aot }).use(rateLimit({ quota: perMinute(1), ...options } as RateLimitOptions))
      return (await app.get('/', () => 'ok').handle(new Request('http://localhost/'))).status
    }
    const failing = (error: Error) => () => {
      throw error
    }
    expect(await statusOf({ key: failing(new Error('no key')) })).toBe(500)
    expect(await statusOf({ key: async () => failing(new Error('no key'))() })).toBe(500)
    expect(await statusOf({ cost: () => Number.NaN })).toBe(500)
    expect(await statusOf({ key: failing(Object.assign(new Error('no key'), { status: 401 })) })).toBe(401)
  },
)
