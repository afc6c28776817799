import { expect, test } from 'vitest'
import { perMinute, type RateLimitOptions, rateLimit } from '../src/index.ts'

const shared = new Response('busy', { status: 503 })

test.each<[string, RateLimitOptions['onDenied'], number, string]>([
  ['a Response', () => new Response('busy', { status: 503 }), 503, 'busy'],
  ['a promise of one', async () => Response.json({ error: 'busy' }, { status: 429 }), 429, '{"error":"busy"}'],
  ['an immutable Response', () => Response.redirect('http://localhost/slow', 302), 302, ''],
  ['a shared Response', () => shared, 503, 'busy'],
  // There is no response object with which it could answer.
  ['nothing, of three arguments', (_request, _decision, _none) => {}, 429, ''],
])('onDenied may return %s, which is sent as it is, with the headers', async (_, onDenied, status, text) => {
  const app = rateLimit({ quota: perMinute(1), key: () => 'a', ...(onDenied && { onDenied }) })(
    () => new Response('ok'),
  )
  await app(new Request('http://localhost'))
  const response = await app(new Request('http://localhost'))
  expect([response.status, response.headers.get('ratelimit')]).toEqual([status, '"default";r=0;t=60'])
  if (text !== '') expect(await response.text()).toBe(text)
})

// Reproduces a bug: the limiter outside sent its own wait instead, though a client alone with the inner one got 120.
test.each(['Retry-After', 'retry-after'])('the %s of onDenied stays behind a second limiter', async (name) => {
  const outer = rateLimit({ name: 'outer', quota: perMinute(100), key: () => 'a' })
  const inner = rateLimit({
    name: 'inner',
    quota: perMinute(1),
    key: () => 'a',
    onDenied: () => ({ headers: { [name]: '120' } }),
  })
  const app = outer(inner(() => new Response('ok')))
  await app(new Request('http://host/'))
  const { status, headers } = await app(new Request('http://host/'))
  expect([status, headers.get('retry-after'), headers.get('ratelimit-policy')]).toEqual([
    429,
    '120',
    '"outer";q=100;w=60, "inner";q=1;w=60',
  ])
})
