import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { memoryStore, perMinute, type RateLimitOptions, rateLimit } from '../src/index.ts'

const options = { quota: perMinute(10), key: () => 'ann' }

/** What a client reads if the app passes on a response that has these headers. */
async function passedOn(headers: Record<string, string>, own: Partial<RateLimitOptions>) {
  const app = new Hono()
  app.use(rateLimit({ ...options, store: memoryStore(), ...own } as RateLimitOptions))
  app.get('/', () => new Response('ok', { headers }))
  return Object.fromEntries((await app.request('/')).headers)
}

// Reproduces a bug: the limiter compared its first header only, and found it in what the handler exposes.
test('a handler that exposes the same headers keeps them', async () => {
  const exposed = 'RateLimit-Policy, RateLimit, Retry-After, X-Total'
  const headers = await passedOn({ 'Access-Control-Expose-Headers': exposed }, { exposeHeaders: true })
  expect(headers).toMatchObject({
    'access-control-expose-headers': exposed,
    'ratelimit-policy': '"default";q=10;w=60',
    ratelimit: '"default";r=9;t=6',
  })
})

// Reproduces a bug: the client read the units that remain at the other server, where that had fewer.
test.each<[RateLimitOptions['headers'], Record<string, string>, Record<string, string>]>([
  [
    'draft-11',
    { 'RateLimit-Policy': '"default";q=10;w=60', RateLimit: '"default";r=4;t=6' },
    { 'ratelimit-policy': '"default";q=10;w=60', ratelimit: '"default";r=9;t=6' },
  ],
  [
    'draft-7',
    { 'RateLimit-Policy': '10;w=60', RateLimit: 'limit=10, remaining=4, reset=6' },
    { 'ratelimit-policy': '10;w=60', ratelimit: 'limit=10, remaining=9, reset=6' },
  ],
  [
    'legacy-delta',
    { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '4', 'X-RateLimit-Reset': '60' },
    { 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '6' },
  ],
])('a response of another server has the headers of the limiter: %s', async (form, theirs, ours) => {
  expect(await passedOn(theirs, { ...(form !== undefined && { headers: form }) })).toMatchObject(ours)
})

test('an inner limiter with fewer units remaining stays in fields for one policy, in a response of a handler', async () => {
  const app = new Hono()
  const headers = 'legacy-delta'
  app.use(rateLimit({ ...options, name: 'outer', headers }))
  app.use(rateLimit({ ...options, name: 'inner', headers, quota: perMinute(3) }))
  app.get('/', () => new Response('ok'))
  const sent = (await app.request('/')).headers
  expect([sent.get('x-ratelimit-limit'), sent.get('x-ratelimit-remaining')]).toEqual(['3', '2'])
})
