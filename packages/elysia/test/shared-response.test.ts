import { fakeClock } from '@spillway/conformance'
import { Elysia } from 'elysia'
import { expect, test } from 'vitest'
import { memoryStore, perMinute, rateLimit } from '../src/index.ts'

// The headers of one request must not stay on a response that other requests get, too.
test.each([
  ['compiled', true],
  ['dynamic', false],
])('does not change a shared response of onDenied; %s', async (_, aot) => {
  const shared = new Response(null, { status: 404 })
  const store = memoryStore({ clock: fakeClock() })
  const app = new Elysia({ aot })
  app.use(rateLimit({ quota: perMinute(1), key: () => 'ann', store, onDenied: () => shared }))
  app.get('/', () => 'ok')
  const send = () => app.handle(new Request('http://localhost/'))
  await send()
  for (let i = 0; i < 2; i++) {
    const { headers } = await send()
    expect([headers.get('ratelimit') === null, shared.headers.get('ratelimit')]).toEqual([false, null])
  }
})
