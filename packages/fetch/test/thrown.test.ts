import { fakeClock } from '@spillway/conformance'
import { expect, test } from 'vitest'
import { memoryStore, perMinute, rateLimit, rateLimiter, settled } from '../src/index.ts'

function setUp() {
  const store = memoryStore({ clock: fakeClock() })
  const statuses: number[] = []
  const refundIf = (status: number): boolean => {
    statuses.push(status)
    return false
  }
  const limit = rateLimit({ quota: perMinute(10), key: () => 'ann', cost: 5, settle: () => 2, refundIf, store })
  const left = async () => (await rateLimiter({ quota: perMinute(10), store }).peek('ann')).remaining
  return { limit, statuses, left }
}

const nextError = (digest: string) => Object.assign(new Error(digest), { digest })

// Reproduces: all but a Response counted as 500, so that a limit of 401 counted no wrong token.
test.each<[string, unknown, number]>([
  ['an error', new Error('no'), 500],
  ['an HTTPException of Hono', Object.assign(new Error('no'), { status: 401, getResponse: () => undefined }), 401],
  ['an error of h3 1', Object.assign(new Error('no'), { statusCode: 401 }), 401],
  ['what SvelteKit throws', { status: 307, location: '/login' }, 307],
  ['a Response', new Response('no', { status: 403 }), 403],
  ['a Response that is no error', new Response('yes', { status: 200 }), 200],
  ['a Response that cannot be sent', Response.error(), 500],
  ['an upgrade', Object.defineProperty(new Response(null), 'status', { value: 101 }), 500],
  ['notFound() of Next.js', nextError('NEXT_HTTP_ERROR_FALLBACK;404'), 404],
  ['redirect() of Next.js', nextError('NEXT_REDIRECT;replace;/a;404;307;'), 307],
  ['another error with a digest', nextError('123;404'), 500],
  ['a status that does not exist', { status: 42, statusCode: '401' }, 500],
  ['nothing', undefined, 500],
])('%s that a handler throws is settled by its status', async (_, thrown, status) => {
  const { limit, statuses, left } = setUp()
  const handler = limit((): Response => {
    throw thrown
  })
  await expect(handler(new Request('http://localhost/'))).rejects.toBe(thrown)
  await settled()
  expect([statuses, await left()]).toEqual([[status], 8])
})

test('a Response that a handler throws is settled by its headers', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const settle = ({ headers }: Response): number => Number(headers.get('x-tokens'))
  const limit = rateLimit({ quota: perMinute(10), key: () => 'ann', cost: 5, settle, store })
  const handler = limit((): Response => {
    throw new Response('no', { status: 403, headers: { 'x-tokens': '3' } })
  })
  await expect(handler(new Request('http://localhost/'))).rejects.toBeInstanceOf(Response)
  await settled()
  expect((await rateLimiter({ quota: perMinute(10), store }).peek('ann')).remaining).toBe(7)
})

// Bun's handlers return nothing for an upgrade, crossws passes its hooks beside a response that is not sent, and Deno and
// Workers have a Response with the status 101. None reports the end of the connection.
test.each<[string, () => Response | undefined]>([
  ['Bun', () => undefined],
  ['crossws', () => Object.assign(new Response('Upgrade', { status: 426 }), { crossws: {} })],
  ['Deno', () => Object.defineProperty(new Response(null), 'status', { value: 101 })],
])('an upgrade of %s has the status 101, and keeps its units', async (_, answer) => {
  const { limit, statuses, left } = setUp()
  const response = answer()
  expect(await limit(() => response)(new Request('http://localhost/'))).toBe(response)
  await settled()
  expect([statuses, await left()]).toEqual([[101], 5])
})

test.each<[string, (runtime: object) => readonly unknown[]]>([
  ['Workers', (runtime) => [{}, runtime]],
  ['Netlify', (runtime) => [runtime]],
])('%s runs until a request is settled', async (_, argumentsOf) => {
  const { limit, left } = setUp()
  const kept: Promise<unknown>[] = []
  const handler = limit((_request: Request, ..._rest: unknown[]) => new Response('ok'))
  const runtime = { waitUntil: (work: Promise<unknown>) => void kept.push(work) }
  await (await handler(new Request('http://localhost/'), ...argumentsOf(runtime))).text()
  expect(kept).toHaveLength(1)
  await Promise.all(kept)
  expect(await left()).toBe(8)
})
