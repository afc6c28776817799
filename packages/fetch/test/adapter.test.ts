import { fakeClock, leanRateLimit, type Mount, type NeutralOptions, sendInto, testAdapter } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { decisionOf, memoryStore, perMinute, perSecond, rateLimit, rateLimiter, settled } from '../src/index.ts'
import * as lean from '../src/lean.ts'

const URL_ = 'http://localhost'

type LimitOf = (options: NeutralOptions, besides: readonly string[]) => ReturnType<typeof rateLimit>

const mountWith =
  (limitOf: LimitOf): Mount =>
  (options, { timeout, inner, onHandled, besides, limited }) => {
    const handler = async (request: Request) => {
      onHandled()
      return Response.json({ rateLimit: decisionOf(request) })
    }
    const app = [options, ...inner].reduceRight((next, each) => limited(limitOf(each, besides))(next), handler)
    return sendInto((request) => {
      // A timeout in front of a limiter aborts the request's signal.
      const expired = new AbortController()
      const late = timeout.then(() => {
        expired.abort()
        return new Response(null, { status: 503 })
      })
      const answer = app(new Request(request, { signal: AbortSignal.any([request.signal, expired.signal]) }))
      return Promise.race([answer, late])
    })
  }

/** `Request` has parsed the URL. */
const bounds = { parsesUrls: true }

testAdapter(test, mountWith(rateLimit), bounds)

describe('lean', () => testAdapter(test, mountWith(leanRateLimit(lean) as LimitOf), bounds))

const ok = () => new Response('ok')
const limitFields = ({ headers }: Response) => [headers.get('RateLimit-Policy'), headers.get('RateLimit')]

describe('the client address', () => {
  test.each<[runtime: string, beside: (address: string) => unknown]>([
    ['Bun', (address) => ({ requestIP: () => ({ address, family: 'IPv4', port: 4 }) })],
    ['Deno', (hostname) => ({ remoteAddr: { transport: 'tcp', hostname, port: 4 } })],
    ['the Node server of Hono', (remoteAddress) => ({ incoming: { socket: { remoteAddress } } })],
  ])('is what %s says beside the request', async (_, beside) => {
    const app = rateLimit({ quota: perMinute(1) })((_: Request, _beside: unknown) => ok())
    const statuses: number[] = []
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.1']) {
      statuses.push((await app(new Request(URL_), beside(address))).status)
    }
    expect(statuses).toEqual([200, 200, 429])
  })

  test('is read from the header of a trusted proxy', async () => {
    const app = rateLimit({ quota: perMinute(1), trustProxy: 1 })(ok)
    const statuses: number[] = []
    for (const address of ['192.0.2.1', '192.0.2.2', 'spoofed, 192.0.2.1']) {
      statuses.push((await app(new Request(URL_, { headers: { 'x-forwarded-for': address } }))).status)
    }
    expect(statuses).toEqual([200, 200, 429])
  })
})

test('passes on the arguments of the runtime', async () => {
  const app = rateLimit({ quota: perMinute(1) })((_: Request, env: { NAME: string }, ...rest: number[]) =>
    Response.json([env.NAME, ...rest]),
  )
  expect(await (await app(new Request(URL_), { NAME: 'a' }, 1, 2)).json()).toEqual(['a', 1, 2])
})

test('several limiters on one request merge their headers', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const outer = rateLimit({ name: 'outer', quota: perMinute(2), store })
  const inner = rateLimit({ name: 'inner', quota: perSecond(1), store })
  const app = outer(inner(ok))
  const policies = '"outer";q=2;w=60, "inner";q=1;w=1'
  expect(limitFields(await app(new Request(URL_)))).toEqual([policies, '"outer";r=1;t=30, "inner";r=0;t=1'])
  const denied = await app(new Request(URL_))
  expect([denied.status, ...limitFields(denied)]).toEqual([429, policies, '"outer";r=0;t=30, "inner";r=0;t=1'])
})

test('sets its headers on immutable responses, and does not change shared ones', async () => {
  const shared = new Response(null, { status: 404 })
  const answers: Record<string, () => Response> = {
    '/moved': () => Response.redirect('http://elsewhere.example/', 302),
    '/shared': () => shared,
  }
  const app = rateLimit({ quota: perMinute(10), store: memoryStore({ clock: fakeClock() }) })((request: Request) =>
    (answers[new URL(request.url).pathname] as () => Response)(),
  )
  const moved = await app(new Request(`${URL_}/moved`))
  expect([moved.status, moved.headers.get('location'), ...limitFields(moved)]).toEqual([
    302,
    'http://elsewhere.example/',
    '"default";q=10;w=60',
    '"default";r=9;t=6',
  ])
  const [first, second] = [await app(new Request(`${URL_}/shared`)), await app(new Request(`${URL_}/shared`))]
  expect([first.status, second.status]).toEqual([404, 404])
  expect([limitFields(first)[1], limitFields(second)[1]]).toEqual(['"default";r=8;t=6', '"default";r=7;t=6'])
})

// Reproduces a bug: the headers of the first request stayed on the response, which other requests get, too.
test.each<[string, string, () => Response]>([
  ['without a body', 'GET', () => new Response(null, { status: 404 })],
  ['with a body, to HEAD', 'HEAD', () => new Response('ok', { status: 404 })],
])('does not change a shared response %s', async (_, method, make) => {
  const shared = make()
  const options = { quota: perMinute(1), key: () => 'ann', store: memoryStore({ clock: fakeClock() }) }
  const app = rateLimit({ ...options, onDenied: () => shared })(() => shared)
  for (const remaining of [0, 0]) {
    const { headers } = await app(new Request(URL_, { method }))
    expect([headers.get('ratelimit'), shared.headers.get('ratelimit')]).toEqual([`"default";r=${remaining};t=60`, null])
  }
})

// Reproduces a bug: the response of Deno.upgradeWebSocket is immutable, and was copied.
test.each([
  ['new Response()', () => new Response(null)],
  ['immutable', () => Response.redirect(URL_)],
])('does not copy the response of an upgraded connection: %s', async (_, make) => {
  const upgraded = Object.defineProperty(make(), 'status', { value: 101 })
  const app = rateLimit({ quota: perMinute(10), refundIf: () => true })(() => upgraded)
  for (let i = 0; i < 2; i++) expect(await app(new Request(URL_))).toBe(upgraded)
})

test('does not change results without headers', async () => {
  const app = rateLimit({ quota: perMinute(10) })((request: Request) =>
    request.headers.has('upgrade') ? undefined : Response.error(),
  )
  expect(await app(new Request(URL_, { headers: { upgrade: 'websocket' } }))).toBe(undefined)
  expect((await app(new Request(URL_)))?.type).toBe('error')
})

test('refunds a failed request, and keeps Workers running until then', async () => {
  const kept: Promise<unknown>[] = []
  const context = { waitUntil: (work: Promise<unknown>) => void kept.push(work) }
  const failing = rateLimit({ quota: perMinute(1), refundIf: (status) => status >= 500 })(
    (request: Request, _env: object, _context: typeof context): Response => {
      if (new URL(request.url).pathname === '/throws') throw new Error('no')
      return new Response('no', { status: 500 })
    },
  )
  for (const path of ['/throws', '/fails', '/throws']) {
    const outcome = await failing(new Request(`${URL_}${path}`), {}, context).then(
      ({ status }) => status,
      (error: Error) => error.message,
    )
    expect(outcome).toBe(path === '/throws' ? 'no' : 500)
    await kept.at(-1)
  }
  expect(kept.length).toBe(3)
})

test.each<[string, (reader: ReadableStreamDefaultReader<Uint8Array>, close: () => void) => Promise<unknown>]>([
  [
    'when its last chunk has been read',
    async (reader, close) => {
      close()
      return reader.read()
    },
  ],
  ['when its reader cancels', async (reader) => reader.cancel()],
])('a stream is corrected %s, no sooner', async (_, end) => {
  const store = memoryStore({ clock: fakeClock() })
  let tokens = 0
  let into: ReadableStreamDefaultController<Uint8Array> | undefined
  const answer = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        start: (controller) => {
          into = controller
        },
      }),
      { status: 201, headers: { 'x-own': 'kept' } },
    )
  const kept: Promise<unknown>[] = []
  const context = { waitUntil: (work: Promise<unknown>) => void kept.push(work) }
  const options = { quota: perMinute(100), key: () => 'ann', cost: 50, settle: () => tokens, store }
  const app = rateLimit(options)((_: Request, _env: object, _context: typeof context) => answer())
  const response = await app(new Request(URL_), {}, context)
  expect([response.status, response.headers.get('x-own'), limitFields(response)[1]]).toEqual([
    201,
    'kept',
    '"default";r=50;t=1',
  ])
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
  const left = async () => (await rateLimiter({ quota: perMinute(100), store }).peek('ann')).remaining
  into?.enqueue(Uint8Array.of(1))
  tokens = 7
  await new Promise((resolve) => setImmediate(resolve))
  expect([(await reader.read()).value, await left()]).toEqual([Uint8Array.of(1), 50])
  await end(reader, () => into?.close())
  await Promise.all(kept)
  expect(await left()).toBe(93)
})

test('lets a failing store reach the caller', async () => {
  const store = { take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) }
  const app = rateLimit({ quota: perMinute(1), store, onStoreError: 'throw' })(ok)
  await expect(app(new Request(URL_))).rejects.toThrow('down')
})

// The status of a thrown Response was read as 500: a limit of failed logins counted none of them.
test('reads the status of a Response that the handler throws', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const limit = rateLimit({ quota: perMinute(1), countIf: [401], store })
  const login = limit(() => {
    throw new Response('wrong password', { status: 401 })
  })
  const attempt = async () => login(new Request(URL_)).catch((thrown: Response) => thrown)
  expect(await (await attempt()).text()).toBe('wrong password')
  await settled()
  expect((await attempt()).status).toBe(429)
})

// Nothing missed the check of what is thrown: no response can be made of these, and its error took the place of the thrown one.
test('takes a thrown response without a status of its own for a 500', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const thrown = Response.error()
  const limit = rateLimit({ quota: perMinute(1), key: () => 'ann', countIf: [500], store })
  const fails = limit(() => {
    throw thrown
  })
  await expect(fails(new Request(URL_))).rejects.toBe(thrown)
  await settled()
  expect((await fails(new Request(URL_))).status).toBe(429)
})

// A client had all requests refunded that it aborted, if that made the handler throw.
test('keeps the units of a request whose client left before its handler threw', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const client = new AbortController()
  const app = rateLimit({ quota: perMinute(9), key: () => 'ann', refundIf: (status) => status >= 500, store })(() => {
    client.abort()
    throw new Error('aborted')
  })
  await expect(app(new Request(URL_, { signal: client.signal }))).rejects.toThrow('aborted')
  await settled()
  expect((await rateLimiter({ quota: perMinute(9), store }).peek('ann')).remaining).toBe(8)
})
