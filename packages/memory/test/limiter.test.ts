import { QuotaError, type Step, type Store, type SyncStore } from '@spillway/core'
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

// Reproduces a bug: only the last cost was kept, and costs that alternate, as tokens of a model do, prepared a take each time.
test('prepares the take of a cost once, also of several that alternate', () => {
  const store = memoryStore()
  const prepared: unknown[] = []
  const counting = {
    ...store,
    prepareSync: (policy: string, step: Step) => {
      prepared.push(step)
      return (store as Required<SyncStore>).prepareSync(policy, step)
    },
  }
  const limiter = rateLimiter({ quota: perMinute(100_000), store: counting })
  for (let i = 0; i < 300; i++) limiter.consumeSync('ann', 2 + (i % 30))
  expect(prepared.length).toBe(31)
  // Those with equal last bits replace each other, and are as right.
  for (let i = 0; i < 4; i++) limiter.consumeSync('ann', i % 2 === 0 ? 70 : 134)
  expect(prepared.length).toBe(35)
  const spent = 10 * Array.from({ length: 30 }, (_, i) => i + 2).reduce((sum, cost) => sum + cost) + 2 * (70 + 134)
  expect(limiter.consumeSync('ann').remaining).toBeGreaterThanOrEqual(100_000 - spent - 1)
  expect(limiter.consumeSync('ann').remaining).toBeLessThan(100_000 - spent + 1_000)
  for (const cost of [0, -1, 1.5, Number.NaN, '2', 2n, Symbol('2'), null]) {
    expect(() => limiter.consumeSync('ann', cost as never)).toThrow(QuotaError)
  }
})
