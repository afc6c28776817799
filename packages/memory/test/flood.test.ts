import { fakeClock } from '@spillway/conformance'
import {
  fixedWindow,
  leakyBucket,
  penalty,
  perMinute,
  type Quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core'
import { describe, expect, test } from 'vitest'
import { memoryStore, rateLimiter } from '../src/index.ts'

const quotas: Readonly<Record<string, Quota>> = {
  'token bucket': perMinute(5),
  'fixed window': fixedWindow({ limit: 5, window: '1m' }),
  'fixed window from the first request': fixedWindow({ limit: 5, window: '1m', align: 'first' }),
  'leaky bucket': leakyBucket({ limit: 5, per: '1m', queue: 4 }),
  'interval refill': tokenBucket({ limit: 60, per: '5m', burst: 12, refill: '1m' }),
  'sliding window': slidingWindow({ limit: 5, window: '1m' }),
  'sliding log': slidingLog({ limit: 5, window: '1m' }),
  penalty: penalty({ after: 5, within: '1m', block: '1m' }),
}

/** A limiter with room for `maxKeys`, and a limiter with room for all keys: both must decide alike. */
function pair(quota: Quota, maxKeys: number) {
  const clock = fakeClock()
  const store = memoryStore({ maxKeys, clock })
  const limiter = rateLimiter({ quota, store })
  const roomy = rateLimiter({ quota, store: memoryStore({ clock }) })
  const both = (key: string, cost?: number): boolean => {
    const decision = roomy.consumeSync(key, cost)
    expect(limiter.consumeSync(key, cost)).toEqual(decision)
    return decision.allowed
  }
  return { clock, store, limiter, both }
}

// Reproduces a bug: a limited key of a window or a log was evicted before new ones, as it expires one window after its
// last allowed request. After 103,000 new keys, 5 of 5 requests were allowed again.
describe.each(Object.entries(quotas))('%s', (_, quota) => {
  test.each([
    [1_000, 1.03],
    [1_000, 3],
    [1_000, 10],
    [100_000, 1.03],
    // Slots are packed from 131,073 keys on.
    [140_000, 1.03],
  ])(
    'a limited key among %d outlives a flood of %d times as many fresh ones',
    (maxKeys, times) => {
      const { clock, store, limiter, both } = pair(quota, maxKeys)
      for (const key of ['silent', 'knocking']) while (both(key));
      const fresh = Math.round(maxKeys * times)
      for (let i = 0; i < fresh; i++) {
        clock.advance(30_000 / fresh)
        limiter.consumeSync(`fresh-${i}`)
        if (i % 500 === 0) both('knocking')
      }
      for (const key of ['silent', 'knocking']) both(key)
      expect(store.size).toBe(maxKeys)
    },
    60_000,
  )

  // All limited keys are adjacent, so that an eviction that samples only neighbours finds nothing else.
  test('no flood evicts a limited key while limited keys use half of the capacity', () => {
    const maxKeys = 1_000
    const { clock, limiter, both } = pair(quota, maxKeys)
    const limited = Array.from({ length: maxKeys / 2 }, (_, i) => `limited-${i}`)
    for (const key of limited) while (both(key));
    for (let i = 0; i < 10 * maxKeys; i++) {
      clock.advance(3)
      limiter.consumeSync(`fresh-${i}`)
    }
    for (const key of limited) both(key)
  })
})

// An eviction reads only part of each log that it compares.
test.each([
  ['many entries', Array.from({ length: 100 }, () => 1)],
  ['many units in its first entry', [80, ...Array.from({ length: 20 }, () => 1)]],
  ['many units in its last entry', [1, 99]],
])('a limited log with %s outlives fresh keys until it is empty', (_, costs) => {
  const { clock, limiter, both } = pair(slidingLog({ limit: 100, window: '1m' }), 100)
  for (const cost of costs) {
    both('limited', cost)
    clock.advance(1)
  }
  for (let i = 0; i < 1_000; i++) {
    clock.advance(59)
    limiter.consumeSync(`fresh-${i}`)
  }
  both('limited')
})
