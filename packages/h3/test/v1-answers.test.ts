import { request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fakeClock, sendTo } from '@spillway/conformance'
import {
  createApp,
  createError,
  eventHandler,
  type H3Event,
  sendError,
  sendRedirect,
  setResponseStatus,
  toNodeListener,
  toWebHandler,
} from 'h3-1'
import { expect, onTestFinished, test, vi } from 'vitest'
import { memoryStore, perMinute, type RateLimitOptions, rateLimit, rateLimiter } from '../src/v1/index.ts'

test.each<[string, NonNullable<RateLimitOptions['onDenied']>, number, string | RegExp]>([
  ['returns a Response', () => new Response('busy', { status: 503 }), 503, 'busy'],
  ['returns a promise of one', async () => Response.json({ error: 'busy' }, { status: 429 }), 429, '{"error":"busy"}'],
  ['returns an immutable Response', () => Response.redirect('http://localhost/slow', 302), 302, ''],
  ['redirects', async (event) => void (await sendRedirect(event, '/slow')), 302, /slow/],
  ['sends an error', (event) => sendError(event, createError({ statusCode: 503 })), 503, /503/],
  ['sets headers', ({ node }) => void node.res.setHeader('x-reason', 'busy'), 429, /"status":429/],
])('a request is denied once if onDenied %s', async (_, onDenied, status, text) => {
  let handled = 0
  const errors: Error[] = []
  const app = createApp({ onError: (error) => void errors.push(error) })
  app.use(rateLimit({ quota: perMinute(1), key: () => 'ann', onDenied }))
  app.use(eventHandler(() => `handled ${++handled}`))
  const send = await sendTo(createServer(toNodeListener(app)))
  await send()
  const denied = await send()
  expect([denied.status, denied.headers.ratelimit, handled]).toEqual([status, '"default";r=0;t=60', 1])
  expect(denied.body).toMatch(text)
  expect(errors).toEqual([])
})

test('an error of onDenied reaches the error handler of the app', async () => {
  const onDenied = () => {
    throw createError({ statusCode: 418 })
  }
  const app = createApp().use(rateLimit({ quota: perMinute(1), key: () => 'ann', onDenied }))
  const send = await sendTo(createServer(toNodeListener(app.use(eventHandler(() => 'ok')))))
  expect([(await send()).status, (await send()).status]).toEqual([200, 418])
})

function setUp(handler: (event: H3Event) => unknown) {
  const store = memoryStore({ clock: fakeClock() })
  const statuses: number[] = []
  const refundIf = (status: number): boolean => {
    statuses.push(status)
    return false
  }
  const options = { quota: perMinute(10), key: () => 'ann', cost: 5, settle: () => 2, refundIf, store }
  const app = createApp().use(rateLimit(options)).use(eventHandler(handler))
  const limiter = rateLimiter({ quota: perMinute(10), store })
  return { app, statuses, left: async () => (await limiter.peek('ann')).remaining }
}

test.each<[string, (event: H3Event) => unknown, number]>([
  ['text', () => 'ok', 200],
  ['nothing', () => null, 204],
  [
    'a status of its own',
    (event) => {
      setResponseStatus(event, 201)
      return { status: 500 }
    },
    201,
  ],
  ['a Response', () => new Response(null, { status: 502 }), 502],
  [
    'an error',
    () => {
      throw createError({ statusCode: 418 })
    },
    418,
  ],
  ['no handler', () => undefined, 404],
])('%s is settled with its status, in Node and without a server', async (_, handler, status) => {
  const { app, statuses, left } = setUp(handler)
  await toWebHandler(app)(new Request('http://localhost/'))
  await vi.waitFor(async () => expect(await left()).toBe(8))
  await (await sendTo(createServer(toNodeListener(app))))()
  await vi.waitFor(async () => expect(await left()).toBe(6))
  expect(statuses).toEqual([status, status])
})

test('a stream is settled when it has been sent, no sooner', async () => {
  let into: ReadableStreamDefaultController<Uint8Array> | undefined
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      into = controller
    },
  })
  const { app, left } = setUp(() => body)
  const sent = (await sendTo(createServer(toNodeListener(app))))()
  await vi.waitFor(async () => expect(await left()).toBe(5))
  into?.enqueue(new TextEncoder().encode('word'))
  expect(await left()).toBe(5)
  into?.close()
  expect((await sent).body).toBe('word')
  await vi.waitFor(async () => expect(await left()).toBe(8))
})

test('a client that leaves before it is answered is settled, and refundIf has no status to judge', async () => {
  let onHandled = (): void => {}
  const handled = new Promise<void>((resolve) => {
    onHandled = resolve
  })
  const { app, statuses, left } = setUp(() => {
    onHandled()
    return new Promise(() => {})
  })
  const server = createServer(toNodeListener(app)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const client = ask({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).on('error', () => {})
  client.end()
  await handled
  client.destroy()
  await vi.waitFor(async () => expect(await left()).not.toBe(5))
  expect(statuses).toEqual([])
})

test('waitUntil of the event keeps Workers running until the units are settled', async () => {
  const kept: Promise<unknown>[] = []
  const { app, left } = setUp(() => 'ok')
  // As Nitro adds it, before its middleware.
  const nitro = createApp().use(
    eventHandler((event) => void Object.assign(event, { waitUntil: (work: Promise<unknown>) => kept.push(work) })),
  )
  await toWebHandler(nitro.use(app.handler))(new Request('http://localhost/'))
  await Promise.all(kept)
  expect([kept.length, await left()]).toEqual([1, 8])
})
