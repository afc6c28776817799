import { modelStore, START } from '@spillway/conformance'
import { fixedWindow, rateLimiter } from '@spillway/core'
import { BurstyRateLimiter, RateLimiterMemory } from 'rate-limiter-flexible'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => void vi.useRealTimers())

const spill = { second: 'extra' }

test('allows what BurstyRateLimiter allows, of the same windows', async () => {
  vi.useFakeTimers({ now: START / 1000 })
  const theirs = new BurstyRateLimiter(
    new RateLimiterMemory({ points: 2, duration: 1 }),
    new RateLimiterMemory({ keyPrefix: 'burst', points: 5, duration: 10 }),
  )
  const window = (limit: number, span: '1s' | '10s') => fixedWindow({ limit, window: span, align: 'first' })
  const ours = rateLimiter({
    quotas: { second: window(2, '1s'), extra: window(5, '10s') },
    spill,
    store: modelStore(() => Date.now() * 1000),
  })
  const seen = { theirs: [] as boolean[], ours: [] as boolean[] }
  for (let i = 0; i < 120; i++) {
    vi.setSystemTime(START / 1000 + i * 170)
    const allowed = theirs.consume('a').then(
      () => true,
      () => false,
    )
    seen.theirs.push(await allowed)
    seen.ours.push((await ours.consume('a')).allowed)
  }
  expect(seen.ours).toEqual(seen.theirs)
  expect(new Set(seen.ours).size).toBe(2)
})
