import { fakeClock, testStore } from '@spillway/conformance'
import { expect, test, vi } from 'vitest'
import { perMinute, rateLimiter, slidingLog, slidingWindow } from '../src/index.ts'
import { localStore } from '../src/remote/local-store.ts'

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

// A key of a window or a log was evicted before fresh ones: it is empty a window after its last allowed request.
test.each([
  ['bucket', perMinute(5)],
  ['sliding window', slidingWindow({ limit: 5, window: '1m' })],
  ['sliding log', slidingLog({ limit: 5, window: '1m' })],
])('keeps limited keys of a %s while they are no more than half of all', (_, quota) => {
  const clock = fakeClock()
  const limiter = rateLimiter({ quota, store: localStore(100, clock) })
  const limited = Array.from({ length: 50 }, (_, i) => `limited ${i}`)
  for (const key of limited) limiter.consumeSync(key, 5)
  for (let i = 0; i < 1_000; i++) {
    clock.advance(10)
    limiter.consumeSync(`fresh ${i}`)
  }
  for (const key of limited) expect(limiter.consumeSync(key).allowed).toBe(false)
})

/** The longest text that a store gives to a Map. */
function longestName(keys: readonly string[]): number {
  const set = vi.spyOn(Map.prototype, 'set')
  const limiter = rateLimiter({ quota: perMinute(1), store: localStore() })
  for (const key of keys) expect([limiter.consumeSync(key), limiter.consumeSync(key)]).toMatchObject(DECISIONS)
  const lengths = set.mock.calls.map(([name]) => String(name).length)
  set.mockRestore()
  return Math.max(...lengths)
}
const DECISIONS = [{ allowed: true }, { allowed: false }]

// 10,000 keys of 15,000 characters each took 150 MB.
test('knows long keys by their digests', () => {
  expect(longestName(['a', 'b'].map((each) => each.repeat(15_000)))).toBe(16)
})

test('names all keys by their digests if clients can choose texts that collide', () => {
  vi.stubGlobal('Bun', {})
  expect(longestName(['a', 'b', 'a key of many characters'])).toBe(16)
  vi.unstubAllGlobals()
})
