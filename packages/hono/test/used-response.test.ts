import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/index.ts'

const HEADER = '"default";q=9;w=60'

/** An app with a limiter, whose handler answers with a response that something has read. */
function appWith(read: (response: Response) => unknown, make: () => Response | Promise<Response>): Hono {
  const app = new Hono()
  app.use(rateLimit({ quota: perMinute(9), key: () => 'ann' }))
  app.get('/', async () => {
    const response = await make()
    await read(response)
    return response
  })
  return app
}

const own = () => new Response('ok', { status: 201, headers: { 'X-Length': '2' } })
const immutable = () => fetch('data:text/plain,ok')
const use = (response: Response) => response.text()
const lock = ({ body }: Response) => void body?.getReader()

// Reproduces a bug: these failed with 500. A handler of HEAD reads the body of the one of GET, for its length.
test.each([
  ['used', use],
  ['locked', lock],
] as const)('sets its headers on a response whose body is %s', async (_, read) => {
  for (const method of ['HEAD', 'GET']) {
    const { status, headers } = await appWith(read, own).request('/', { method })
    expect([status, headers.get('X-Length'), headers.get('RateLimit-Policy')], method).toEqual([201, '2', HEADER])
  }
  const { status, headers } = await appWith(read, immutable).request('/', { method: 'HEAD' })
  expect([status, headers.get('Content-Type'), headers.get('RateLimit-Policy')]).toEqual([200, 'text/plain', HEADER])
})

// Reproduces a bug: the copy whose reading settles the request never ended, and the client waited.
test.each([
  ['used', use],
  ['locked', lock],
] as const)('a body that is %s fails as without a limiter, and its request is refunded', async (_, read) => {
  const limit = rateLimit({ quota: perMinute(9), key: () => 'ann', refundIf: () => true })
  const app = new Hono()
  app.use(limit)
  app.get('/', async () => {
    const response = own()
    await read(response)
    return response
  })
  const response = await app.request('/')
  await expect(response.text()).rejects.toThrow(TypeError)
  expect((await limit.peek('ann')).remaining).toBe(9)
})
