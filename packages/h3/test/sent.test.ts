import { createServer, type RequestListener } from 'node:http'
import { fakeClock, sendInto, sendTo } from '@spillway/conformance'
import { H3, type H3Event, HTTPError, HTTPResponse, type Middleware, onError, toNodeHandler } from 'h3'
import { describe, expect, test, vi } from 'vitest'
import { memoryStore, perMinute, rateLimit, rateLimiter, settled } from '../src/index.ts'

function setUp(handler: (event: H3Event) => unknown) {
  const store = memoryStore({ clock: fakeClock() })
  const statuses: number[] = []
  const app = new H3({ silent: true })
  const refundIf = (status: number): boolean => {
    statuses.push(status)
    return false
  }
  app.use(rateLimit({ quota: perMinute(10), key: () => 'ann', cost: 5, settle: () => 2, refundIf, store }))
  app.get('/', handler)
  const limiter = rateLimiter({ quota: perMinute(10), store })
  return { app, statuses, left: async () => (await limiter.peek('ann')).remaining }
}

const throwing = (make: () => unknown) => (): never => {
  throw make()
}

const missing = (): unknown => Symbol.for('h3.notFound')

const handlers: readonly (readonly [string, (event: H3Event) => unknown, number])[] = [
  ['text', () => 'ok', 200],
  ['an object with a status of its own', () => ({ status: 500 }), 200],
  [
    'text with a status',
    ({ res }) => {
      res.status = 201
      return 'ok'
    },
    201,
  ],
  ['a Response', () => new Response('no', { status: 502 }), 502],
  ['a Response without a body', () => new Response(null, { status: 204 }), 204],
  ['an HTTPResponse', () => new HTTPResponse('made', { status: 201 }), 201],
  ['nothing', () => undefined, 200],
  ['no route', missing, 404],
  [
    'an HTTPError',
    () => {
      throw new HTTPError({ status: 418 })
    },
    418,
  ],
  ['an error', throwing(() => new Error('no')), 500],
  // The status of failed logins was read as another, so that a limit of 401 counted none of them.
  ['an error with a status code', throwing(() => Object.assign(new Error('no'), { statusCode: 401 })), 401],
  ['an error with a cause', throwing(() => new Error('no', { cause: new HTTPError({ status: 401 }) })), 401],
  ['an HTTPError that is returned', () => new HTTPError({ status: 401 }), 401],
  ['an error that is returned', () => new Error('no'), 500],
  ['a number that is thrown', throwing(() => 401), 401],
  ['a Response that is thrown', throwing(() => new Response('no', { status: 401 })), 500],
  ['an object that is thrown', throwing(() => ({ status: 401 })), 500],
  ['an error with a status that does not exist', throwing(() => Object.assign(new Error('no'), { status: 42 })), 500],
  [
    'an HTTPResponse with the status of the event',
    ({ res }) => {
      res.status = 401
      return new HTTPResponse('no')
    },
    401,
  ],
  [
    'text with a status that is text',
    ({ res }) => {
      res.status = '401' as never
      return 'no'
    },
    401,
  ],
]

test.each(handlers)('%s is settled with its status, in Node and without a server', async (_, handler, status) => {
  const { app, statuses, left } = setUp(handler)
  const response = await app.request('/')
  await response.text()
  await vi.waitFor(async () => expect(await left()).toBe(8))
  const send = await sendTo(createServer(toNodeHandler(app) as RequestListener))
  expect((await send()).status).toBe(response.status)
  await vi.waitFor(async () => expect(await left()).toBe(6))
  expect(statuses).toEqual([status, status])
})

test.each([
  ['a stream', (body: ReadableStream) => body],
  ['a Response of a stream', (body: ReadableStream) => new Response(body, { headers: { 'x-own': 'kept' } })],
])('%s is settled when it has been read, no sooner, and waitUntil keeps the runtime running', async (_, handler) => {
  let into: ReadableStreamDefaultController<Uint8Array> | undefined
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      into = controller
    },
  })
  const { app, left } = setUp(() => handler(body))
  const kept: Promise<unknown>[] = []
  const request = new Request('http://localhost/')
  const response = await app.fetch(
    Object.assign(request, { waitUntil: (work: Promise<unknown>) => void kept.push(work) }),
  )
  expect([response.headers.get('ratelimit'), kept.length]).toEqual(['"default";r=5;t=6', 1])
  into?.enqueue(new TextEncoder().encode('word'))
  expect(await left()).toBe(5)
  into?.close()
  expect(await response.text()).toBe('word')
  await Promise.all(kept)
  expect(await left()).toBe(8)
})

test('without a server, a request is settled by the status of onError, and keeps its units if its client has left', async () => {
  const quota = perMinute(10)
  for (const onError of [() => new Response('no', { status: 401 }), undefined]) {
    const store = memoryStore({ clock: fakeClock() })
    const kept: Promise<unknown>[] = []
    const client = new AbortController()
    const app = new H3({ silent: true, ...(onError && { onError }) })
    app.use(rateLimit({ quota, key: () => 'ann', store, refundIf: (status) => status >= 500 }))
    app.use(rateLimit({ name: 'failures', quota, key: () => 'ann', store, countIf: [401] }))
    app.get('/', () => {
      if (!onError) client.abort()
      throw new Error('no')
    })
    const request = new Request('http://localhost/', { signal: client.signal })
    await app.fetch(Object.assign(request, { waitUntil: (work: Promise<unknown>) => void kept.push(work) }))
    await Promise.all(kept)
    for (const name of ['default', 'failures']) {
      const limiter = rateLimiter({ name, quota, store })
      expect((await limiter.peek('ann')).remaining, name).toBe(9)
    }
  }
})

/** Error handlers, and middleware around the limiter that handles errors. */
const errorHandlers: Readonly<Record<string, { onError?: () => unknown; around?: Middleware }>> = {
  'onError with a Response': { onError: () => new Response('no', { status: 401 }) },
  'onError with a value and a status': {
    onError: (_?: unknown, event?: H3Event) => {
      if (event) event.res.status = 401
      return 'no'
    },
  },
  'onError with another error': { onError: () => new HTTPError({ status: 401 }) },
  'onError that throws': { onError: throwing(() => new HTTPError({ status: 401 })) },
  'middleware of h3': { around: onError(() => new Response('no', { status: 401 })) },
}

/** An app whose limiters count failures, and errors that it does not send. */
function countingApp(handler: () => unknown, { onError: handle, around }: (typeof errorHandlers)[string]): H3 {
  const app = new H3({ silent: true, ...(handle && { onError: handle }) })
  if (around) app.use(around)
  const common = { key: () => 'ann', store: memoryStore({ clock: fakeClock() }) } as const
  app.use(rateLimit({ ...common, name: 'all', quota: perMinute(9) }))
  app.use(rateLimit({ ...common, name: 'failures', quota: perMinute(2), countIf: [401] }))
  app.use(rateLimit({ ...common, name: 'errors', quota: perMinute(1), countIf: [500, 404] }))
  return app.get('/', handler)
}

// Reproduces: without a server, a request that onError answers kept its units, and a Response of onError lacked the headers.
describe.each(Object.entries(errorHandlers))('%s', (_, handling) => {
  const failures: readonly (readonly [string, () => unknown])[] = [
    ['an error', throwing(() => new Error('no'))],
    ['an error that is returned', () => new Error('no')],
    ['no route', missing],
  ]
  // Middleware handles only what is thrown.
  test.each(handling.around ? failures.slice(0, 1) : failures)(
    'counts %s by the status that is sent, and keeps the headers',
    async (_, handler) => {
      for (const served of [false, true]) {
        const app = countingApp(handler, handling)
        const send = served ? await sendTo(createServer(toNodeHandler(app) as RequestListener)) : sendInto(app.fetch)
        const answers: unknown[] = []
        for (let i = 0; i < 3; i++) {
          const { status, headers } = await send()
          answers.push([status, headers.ratelimit])
          await settled()
        }
        expect(answers).toEqual([
          [401, '"all";r=8;t=7, "failures";r=1;t=30, "errors";r=0;t=60'],
          [401, '"all";r=7;t=7, "failures";r=0;t=30, "errors";r=0;t=60'],
          [429, '"all";r=6;t=7, "failures";r=0;t=30'],
        ])
      }
    },
  )
})
