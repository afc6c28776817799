import { expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/index.ts'

test('warns once of a limiter that is built for each request, and so never denies', async () => {
  const warnings: string[] = []
  const logger = { warn: (message: string) => void warnings.push(message) }
  for (let i = 0; i < 300; i++) {
    const limit = rateLimit({ quota: perMinute(1), key: () => 'one', logger })
    expect((await limit(() => new Response('ok'))(new Request('http://localhost/'))).status).toBe(200)
  }
  expect(warnings).toEqual([expect.stringContaining('Build a limiter once, not for each request.')])
})
