import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/index.ts'

const withStatus = (status: number, response: Response) => Object.defineProperty(response, 'status', { value: status })

// Reproduces a bug: the response of Deno.upgradeWebSocket was copied, which fails in most runtimes, and the client got a 500.
test.each([
  ['new Response()', () => withStatus(101, new Response(null))],
  ['immutable', () => withStatus(101, Response.redirect('http://localhost/'))],
  ['Response.error()', () => Response.error()],
])('passes on a response that cannot be copied: %s', async (_, make) => {
  for (const refundIf of [undefined, () => true]) {
    const response = make()
    const app = new Hono()
    app.use(rateLimit({ quota: perMinute(9), ...(refundIf && { refundIf }) }))
    app.get('/', () => response)
    expect(await app.request('/')).toBe(response)
  }
})
