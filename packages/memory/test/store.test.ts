import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { fakeClock, testStore } from '@spillway/conformance'
import { fixedWindow, perDay, perMinute, QuotaError, slidingLog, slidingWindow, tokenBucket } from '@spillway/core'
import { describe, expect, test, vi } from 'vitest'
import { memoryStore, rateLimiter } from '../src/index.ts'

testStore(test, () => memoryStore({ maxKeys: 1_000 }))
// A capacity above 131,072 keys uses packed slots instead of a Map.
describe('for a million keys', () => testStore(test, () => memoryStore({ maxKeys: 1_000_000 })))

// Row 22 of the peers' bugs: ten junk keys evict a limited one from a cache of ten, and its requests are allowed again.
test('is bounded, and a limited key outlives a flood of new ones', () => {
  const clock = fakeClock()
  const store = memoryStore({ maxKeys: 100, clock })
  const limiter = rateLimiter({ quota: perMinute(10), store })
  limiter.consumeSync('victim', 10)
  for (let i = 0; i < 1_000; i++) {
    clock.advance(1)
    limiter.consumeSync(`fresh-${i}`)
    expect(limiter.consumeSync('victim').allowed).toBe(false)
  }
  expect(store.size).toBe(100)
  expect(store.evictions).toBe(901)
})

/** The memory in use after garbage collection, in bytes. */
function kept(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const HEADER = 16_000
test.each<[what: string, keyOf: (header: string) => string]>([
  ['fill a header', (header) => header],
  ['are cut out of a header', (header) => header.slice(0, 40)],
  ['are short, and cut out of a header', (header) => header.slice(0, 20)],
])('keeps little of keys that %s, and tells them apart', (_, keyOf) => {
  for (const maxKeys of [1_000, 1_000_000]) {
    const store = memoryStore({ maxKeys, clock: fakeClock() })
    const limiter = rateLimiter({ quota: perMinute(1), store })
    const visit = (n: number) => limiter.consumeSync(keyOf(String(n).padEnd(HEADER, 'ab'))).allowed
    visit(0)
    const before = kept()
    for (let n = 1; n < 1_000; n++) expect(visit(n)).toBe(true)
    expect(kept() - before).toBeLessThan(1_000_000)
    for (let n = 1; n < 1_000; n++) expect(visit(n)).toBe(false)
  }
})

test('sweeps expired states as new keys are added', () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const limiters = [
    perMinute(10),
    fixedWindow({ limit: 3, window: '1m' }),
    slidingWindow({ limit: 3, window: '1m' }),
    slidingLog({ limit: 3, window: '1m' }),
  ].map((quota, i) => rateLimiter({ quota, store, name: String(i) }))
  for (let i = 0; i < 400; i++) for (const limiter of limiters) limiter.consumeSync(`old-${i}`)
  clock.advance(180_000)
  for (let i = 0; i < 400; i++) for (const limiter of limiters) limiter.consumeSync(`new-${i}`)
  expect(store.size).toBeLessThan(1_700)
  expect(store.evictions).toBe(0)
})

// Row 5 of the peers' bugs: a window of 30 days overflows setTimeout, its state expires after 1 ms, and nothing is
// limited.
test('keeps windows that are longer than the maximum of a timer, without timers', () => {
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const clock = fakeClock()
  const limiter = rateLimiter({ quota: perDay(1, { burst: 60 }), store: memoryStore({ clock }) })
  expect(limiter.consumeSync('a', 60).allowed).toBe(true)
  clock.advance(59 * 86_400_000)
  expect(limiter.consumeSync('a', 60)).toMatchObject({ allowed: false, retryAfterMs: 86_400_000 })
  expect(timers).not.toHaveBeenCalled()
  timers.mockRestore()
})

test('answers in the same tick', () => {
  expect(rateLimiter({ quota: perMinute(1) }).consumeSync('a')).toMatchObject({ allowed: true, policy: 'default' })
})

test.each([0, -1, 1.5, '10', Number.NaN] as never[])('rejects maxKeys %s', (maxKeys) => {
  expect(() => memoryStore({ maxKeys })).toThrow(QuotaError)
})

test('rejects an unknown option', () => {
  expect(() => memoryStore({ maxkeys: 1 } as never)).toThrow('Did you mean "maxKeys"?')
})

test('keeps the full bucket of a key with an initial level for as long as the level counts', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const quota = tokenBucket({ limit: 5, per: '1s', initial: 0, keepFull: '1h' })
  const limiter = rateLimiter({ quota, store })
  limiter.consumeSync('known')
  clock.advance(3_600_999)
  // Each new key sweeps two.
  for (let i = 0; i < 10; i++) limiter.consumeSync(`fresh-${i}`)
  expect((await limiter.peek('known')).remaining).toBe(5)
  clock.advance(1)
  expect((await limiter.peek('known')).remaining).toBe(0)
  clock.advance(3_700_000)
  for (let i = 0; i < 20; i++) limiter.consumeSync(`late-${i}`)
  expect(store.size).toBeLessThan(25)
})

test('an evicted key with an initial level starts again, and has no more units than before', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock, maxKeys: 1 })
  const quota = tokenBucket({ limit: 5, per: '1s', initial: 1 })
  const limiter = rateLimiter({ quota, store })
  limiter.consumeSync('a')
  clock.advance(60_000)
  expect((await limiter.peek('a')).remaining).toBe(5)
  limiter.consumeSync('b')
  expect((await limiter.peek('a')).remaining).toBe(1)
  expect(store.evictions).toBe(1)
})
