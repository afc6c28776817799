import { fakeClock, testStore } from '@spillway/conformance'
import { perDay, perMinute, QuotaError } from '@spillway/core'
import { expect, test, vi } from 'vitest'
import { memoryStore, rateLimiter } from '../src/index.ts'

testStore(test, () => memoryStore({ maxKeys: 1_000 }))

test('is bounded: the keys used longest ago are forgotten', () => {
  const limiter = rateLimiter({ quota: perMinute(1), store: memoryStore({ maxKeys: 2 }) })
  const allowed = ['a', 'b', 'a', 'c', 'a', 'b'].map((key) => limiter.consumeSync(key).allowed)
  expect(allowed).toEqual([true, true, false, true, false, true])
})

// Row 5 of the peers' bugs: a window of 30 days overflows setTimeout, the record goes after 1 ms, and nothing is limited.
test('keeps windows longer than a timer can count, without timers', () => {
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

test.each([0, -1, 1.5, '10', Number.NaN] as never[])('refuses to keep %s keys', (maxKeys) => {
  expect(() => memoryStore({ maxKeys })).toThrow(QuotaError)
})

test('refuses an option it does not know', () => {
  expect(() => memoryStore({ maxkeys: 1 } as never)).toThrow('Did you mean "maxKeys"?')
})
