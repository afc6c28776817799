import { fakeClock, testStore } from '@spillway/conformance'
import { expect, test } from 'vitest'
import { perMinute, rateLimiter } from '../src/index.ts'
import { localStore } from '../src/local-store.ts'

testStore(test, () => localStore())

test('keeps a bounded number of keys, of which one that is limited outlives a flood', () => {
  const limiter = rateLimiter({ quota: perMinute(3), store: localStore(1_000, fakeClock()) })
  limiter.consumeSync('alice', 3)
  for (let i = 0; i < 20_000; i++) {
    limiter.consumeSync(`fresh ${i}`)
    if (i % 100 === 0) expect(limiter.consumeSync('alice').allowed).toBe(false)
  }
  // The clock stands still: a key that was evicted can take all of its units again.
  let kept = 0
  for (let i = 0; i < 20_000; i++) if (!limiter.consumeSync(`fresh ${i}`, 3).allowed) kept++
  expect(kept).toBeLessThanOrEqual(999)
})
