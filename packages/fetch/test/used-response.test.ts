import { expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/index.ts'

const own = () => new Response('ok', { headers: { 'Content-Type': 'text/plain' } })
const immutable = () => fetch('data:text/plain,ok')
const use = (response: Response) => response.text()
const lock = ({ body }: Response) => void body?.getReader()

// Reproduces a bug: a handler of HEAD that reads the body of the response to GET, for its length, failed.
test.each([
  ['used', use, own],
  ['locked', lock, own],
  ['used, and immutable', use, immutable],
  ['locked, and immutable', lock, immutable],
] as const)('answers HEAD with a response that is %s', async (_, read, make) => {
  const app = rateLimit({ quota: perMinute(9), key: () => 'ann', refundIf: () => true })(async () => {
    const response = await make()
    await read(response)
    return response
  })
  const { status, headers } = await app(new Request('http://localhost', { method: 'HEAD' }))
  expect([status, headers.get('Content-Type'), headers.get('RateLimit-Policy')]).toEqual([
    200,
    'text/plain',
    '"default";q=9;w=60',
  ])
})

// Reproduces a bug: the copy whose reading settles the request never ended, and the client waited.
test.each([
  ['used', use],
  ['locked', lock],
] as const)('a body that is %s fails as without a limiter, and its request is refunded', async (_, read) => {
  const limit = rateLimit({ quota: perMinute(9), key: () => 'ann', refundIf: () => true })
  const app = limit(async () => {
    const response = own()
    await read(response)
    return response
  })
  const response = await app(new Request('http://localhost'))
  await expect(response.text()).rejects.toThrow(TypeError)
  expect((await limit.peek('ann')).remaining).toBe(9)
})
