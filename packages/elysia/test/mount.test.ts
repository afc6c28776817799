import { fakeClock } from '@spillway/conformance'
import { memoryStore } from '@spillway/memory'
import { type AnyElysia, Elysia } from 'elysia'
import { describe, expect, test } from 'vitest'
import { perMinute, type RateLimit, type RateLimitOptions, rateLimit } from '../src/index.ts'

function limiterOf(options: object = {}): RateLimit {
  const store = memoryStore({ clock: fakeClock() })
  return rateLimit({ key: () => 'ann', quota: perMinute(2), store, ...options } as RateLimitOptions)
}

/** The statuses and the headers of requests, one after the other, to a mounted app. */
async function answersOf(app: AnyElysia, count: number): Promise<readonly (readonly [number, string | null])[]> {
  const answers: [number, string | null][] = []
  for (let i = 0; i < count; i++) {
    const response = await app.handle(new Request('http://localhost/mounted/login', { method: 'POST' }))
    answers.push([response.status, response.headers.get('ratelimit')])
    await response.text()
    await new Promise(setImmediate)
  }
  return answers
}

// Elysia 1.4.19 fails if the headers of any response are immutable, or leaves them out.
const isOldest = process.env['FRAMEWORKS'] === 'oldest'
const REDIRECTION = { status: 303, headers: { location: 'http://localhost/' } }

const TOLD = [
  [200, '"default";r=1;t=30'],
  [200, '"default";r=0;t=30'],
  [429, '"default";r=0;t=30'],
]

// Without compilation, Elysia sends the response of a mounted app as it is, and reports nothing of it.
describe.each([true, false])('a mounted app; aot: %s', (aot) => {
  test('is counted and denied, and its responses have the headers', async () => {
    const limit = limiterOf()
    const app = new Elysia({ aot }).use((app) => limit(app)).mount('/mounted', () => new Response('ok'))
    expect(await answersOf(app, 3)).toEqual(TOLD)
  })

  test('may redirect, keeps its own headers, and may be mounted before the limiter', async () => {
    const limit = limiterOf()
    const app = new Elysia({ aot })
      .mount('/mounted', () =>
        isOldest ? new Response(null, REDIRECTION) : Response.redirect('http://localhost/', 303),
      )
      .use((app) => limit(app))
    const response = await app.handle(new Request('http://localhost/mounted'))
    const named = ['location', 'ratelimit'].map((name) => response.headers.get(name))
    expect([response.status, ...named]).toEqual([303, 'http://localhost/', '"default";r=1;t=30'])
  })

  test('has the headers of two limiters, each once', async () => {
    const app = new Elysia({ aot })
    for (const limit of [limiterOf({ name: 'a' }), limiterOf({ name: 'b' })]) app.use((app) => limit(app))
    app.mount('/mounted', () => new Response('ok'))
    expect(await answersOf(app, 1)).toEqual([[200, '"a";r=1;t=30, "b";r=1;t=30']])
  })

  // Reproduces a bug: every status was 200, so that a limit of failed logins limited nothing.
  test('is settled by the status of its response', async () => {
    const limit = limiterOf({ countIf: [401] })
    const app = new Elysia({ aot })
      .use((app) => limit(app))
      .mount('/mounted', () => new Response('no', { status: 401 }))
    expect((await answersOf(app, 3)).map(([status]) => status)).toEqual([401, 401, 429])
  })

  test('in an app that has the limiter and is used by another', async () => {
    const limit = limiterOf()
    const inner = new Elysia({ aot }).use((app) => limit(app)).mount('/mounted', () => new Response('ok'))
    expect(await answersOf(new Elysia({ aot }).use(inner), 3)).toEqual(TOLD)
  })

  test('in an app that is used by one that has the limiter', async () => {
    const limit = limiterOf()
    const inner = new Elysia({ aot }).mount('/mounted', () => new Response('ok'))
    expect(await answersOf(new Elysia({ aot }).use((app) => limit(app)).use(inner), 3)).toEqual(TOLD)
  })

  test('that fails is answered by Elysia, and counted', async () => {
    const limit = limiterOf({ countIf: [500] })
    const app = new Elysia({ aot }).use((app) => limit(app)).mount('/mounted', () => Promise.reject(new Error('no')))
    expect((await answersOf(app, 3)).map(([status]) => status)).toEqual([500, 500, 429])
  })
})
