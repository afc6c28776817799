import { fakeClock } from '@spillway/conformance'
import { type Context, Hono } from 'hono'
import { expect, test, vi } from 'vitest'
import { memoryStore, perMinute, rateLimit, rateLimiter, settled } from '../src/index.ts'

// Edge runtimes have no Node response that reports when it has been sent.

function setUp(answer: (c: Context) => Response | Promise<Response>) {
  const store = memoryStore({ clock: fakeClock() })
  const app = new Hono()
  const kept: Promise<unknown>[] = []
  app.use(rateLimit({ quota: perMinute(10), key: () => 'ann', cost: 5, settle: () => 2, store }))
  app.get('/', answer)
  const limiter = rateLimiter({ quota: perMinute(10), store })
  const waitUntil = (work: Promise<unknown>): void => void kept.push(work)
  const context = { waitUntil, passThroughOnException: () => {}, props: {} }
  return {
    kept,
    fetch: async () => app.fetch(new Request('http://localhost/'), {}, context),
    plain: async () => app.fetch(new Request('http://localhost/')),
    left: async () => (await limiter.peek('ann')).remaining,
  }
}

/** A body whose chunks the test writes. */
function streamed() {
  let into: ReadableStreamDefaultController<Uint8Array> | undefined
  const cancel = vi.fn<() => void>()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      into = controller
    },
    cancel,
  })
  const write = (text: string): void => into?.enqueue(new TextEncoder().encode(text))
  return { body, cancel, write, close: () => into?.close() }
}

test('a stream is settled when it has been read, and waitUntil keeps the runtime running', async () => {
  const { body, write, close } = streamed()
  const { fetch, kept, left } = setUp(() => new Response(body, { headers: { 'x-own': 'kept' } }))
  const response = await fetch()
  expect(response.headers.get('x-own')).toBe('kept')
  expect(response.headers.get('ratelimit')).toBe('"default";r=5;t=6')
  expect(kept).toHaveLength(1)
  write('word')
  expect(await left()).toBe(5)
  close()
  expect(await response.text()).toBe('word')
  await Promise.all(kept)
  expect(await left()).toBe(8)
})

test('a stream is settled when its reader cancels, and its source is cancelled', async () => {
  const { body, cancel, write } = streamed()
  const { fetch, kept, left } = setUp(() => new Response(body))
  const reader = (await fetch()).body?.getReader()
  write('word')
  await reader?.read()
  await reader?.cancel()
  await Promise.all(kept)
  expect(await left()).toBe(8)
  expect(cancel).toHaveBeenCalledOnce()
})

test.each<[string, (c: Context) => Response | Promise<Response>, number]>([
  ['a text', (c) => c.text('ok'), 200],
  ['no body', (c) => c.body(null, 204), 204],
  ['a response of its own', () => Response.json({}), 200],
  [
    'an error',
    () => {
      throw new Error('no')
    },
    500,
  ],
])('%s is corrected too, with and without a runtime to keep awake', async (_, answer, status) => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const { fetch, plain, left } = setUp(answer)
  for (const [send, remaining] of [
    [fetch, 8],
    [plain, 6],
  ] as const) {
    const response = await send()
    expect(response.status).toBe(status)
    await response.text()
    await vi.waitFor(async () => expect(await left()).toBe(remaining))
  }
})

test('a thrown value that is not an Error is settled as a failure', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const app = new Hono()
  app.use(rateLimit({ quota: perMinute(10), key: () => 'ann', refundIf: (status) => status >= 500, store }))
  app.get('/', () => {
    // biome-ignore lint/style/useThrowOnlyError: that is the point
    throw 'no'
  })
  await expect(async () => app.request('/')).rejects.toBe('no')
  const limiter = rateLimiter({ quota: perMinute(10), store })
  await vi.waitFor(async () => expect((await limiter.peek('ann')).remaining).toBe(10))
})

// Reproduces a bug: without the Node server it counted as a 500, so that ten wrong tokens were ten 401s.
test.each<[string, () => unknown]>([
  ['a Response', () => new Response('no', { status: 401 })],
  ['an object with a status', () => ({ status: 401 })],
  ['an object with a statusCode', () => ({ statusCode: 401 })],
])('%s that is thrown counts by its status', async (_, thrown) => {
  const store = memoryStore({ clock: fakeClock() })
  const app = new Hono()
  app.use((c, next) => next().catch(() => c.text('no', 401)))
  app.use(rateLimit({ quota: perMinute(2), key: () => 'ann', countIf: [401], store }))
  app.get('/', () => {
    throw thrown()
  })
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) {
    const response = await app.request('/')
    statuses.push(response.status)
    await response.text()
    await settled()
  }
  expect(statuses).toEqual([401, 401, 429, 429])
})
