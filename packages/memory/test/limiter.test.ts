import type { Store } from '@spillway/core'
import { expect, test } from 'vitest'
import { memoryStore, perMinute, rateLimiter } from '../src/index.ts'

// Users write `store: production ? redisStore(redis) : undefined`.
test('an undefined store is the default', async () => {
  const limiter = rateLimiter({ quota: perMinute(1), store: undefined })
  expect([limiter.consumeSync('ann').allowed, limiter.consumeSync('ann').allowed]).toEqual([true, false])
  const elsewhere: Store | undefined = undefined
  expect((await rateLimiter({ quota: perMinute(1), store: elsewhere }).consume('ann')).allowed).toBe(true)
})

test('uses the store option, and rejects null', () => {
  const store = memoryStore()
  rateLimiter({ quota: perMinute(1), store }).consumeSync('ann')
  expect(store.size).toBe(1)
  expect(() => rateLimiter({ quota: perMinute(1), store: null as never })).toThrow('rateLimiter store is null')
})

test.each([1_000, 1_000_000])('resetAll applies to takes prepared before, of %i keys', async (maxKeys) => {
  const limiter = rateLimiter({ quota: perMinute(1), store: memoryStore({ maxKeys }) })
  for (let i = 0; i < 500; i++) limiter.consumeSync(`user-${i}`)
  expect(limiter.consumeSync('user-7').allowed).toBe(false)
  expect(await limiter.resetAll()).toBe(500)
  expect([limiter.consumeSync('user-7').allowed, limiter.consumeSync('user-7').allowed]).toEqual([true, false])
})

// A getter of a class was ignored.
test('options that an instance of a class inherits are read', async () => {
  class Options {
    readonly name = 'login'
    get quota() {
      return perMinute(1)
    }
    get blocks() {
      return true
    }
  }
  const limiter = rateLimiter(new Options())
  await limiter.block('ann', '1h')
  expect([(await limiter.consume('ann')).allowed, limiter.consumeSync('bob').allowed]).toEqual([false, true])
})

test.each([
  [perMinute(5), 'rateLimiter has no option "kernel". This is a quota: write { quota: perMinute(100) }.'],
  [{ quota: perMinute(5), key: 'ip' }, 'rateLimiter has no option "key".'],
  [5, 'rateLimiter takes an object of options; got 5.'],
])('%o is rejected', (options, message) => expect(() => rateLimiter(options as never)).toThrow(message))
