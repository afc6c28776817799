import { fakeClock } from '@spillway/conformance'
import { H3 } from 'h3'
import { expect, test } from 'vitest'
import { memoryStore, perMinute, rateLimit } from '../src/index.ts'

// The headers of one request must not stay on a response that other requests get, too.
test.each([
  ['of a handler', false],
  ['of onDenied', true],
] as const)('does not change a shared response %s', async (_, denies) => {
  const shared = new Response(null, { status: 404 })
  const store = memoryStore({ clock: fakeClock() })
  const app = new H3({ silent: true })
  const onDenied = () => shared
  app.use(
    '/api/**',
    rateLimit({ quota: perMinute(denies ? 1 : 3), key: () => 'ann', store, ...(denies && { onDenied }) }),
  )
  app.get('/**', () => (denies ? 'ok' : shared))
  if (denies) await app.request('/api/a')
  for (let i = 0; i < 2; i++) {
    const { headers } = await app.request('/api/a')
    expect([headers.get('ratelimit') === null, shared.headers.get('ratelimit')]).toEqual([false, null])
  }
})
