import { afterEach, expect, test, vi } from 'vitest'
import { leakyBucket, perMinute, rateLimit } from '../src/index.ts'

/** A request that counts how often its signal is read. */
class Watched extends Request {
  reads = 0
  override get signal(): AbortSignal {
    this.reads++
    return super.signal
  }
}

afterEach(() => {
  vi.unstubAllGlobals()
})

// Deno warns once of a handler that reads the signal of its request and answers. Elsewhere the signal tells that a client has
// left while middleware before the limiter awaited something.
test('a request that does not wait leaves its signal alone in Deno', async () => {
  vi.stubGlobal('Deno', {})
  const app = rateLimit({ quota: perMinute(1), key: () => 'ann' })(() => new Response('ok'))
  const [allowed, denied] = [new Watched('http://localhost'), new Watched('http://localhost')]
  expect([(await app(allowed)).status, (await app(denied)).status]).toEqual([200, 429])
  expect([allowed.reads, denied.reads]).toEqual([0, 0])
})

test('a request that waits reads it', async () => {
  const quota = leakyBucket({ limit: 1, per: 20, queue: 1 })
  const app = rateLimit({ quota, key: () => 'ann' })(() => new Response('ok'))
  await app(new Request('http://localhost'))
  const waiting = new Watched('http://localhost')
  await app(waiting)
  expect(waiting.reads).toBeGreaterThan(0)
})
