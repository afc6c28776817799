import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard } from '../src/http/index.ts'
import { perMinute, rateLimiter, type Store } from '../src/index.ts'

afterEach(() => void vi.useRealTimers())

const logger = { warn: () => {} }

/** Two policies of a store that fails: one is counted in this process, the other by a limiter. */
function setUp() {
  const store = faultyStore(modelStore(fakeClock()))
  const spare = faultyStore(modelStore(fakeClock()))
  const fallback = rateLimiter({ name: 'spare', quota: perMinute(2), store: spare, onStoreError: 'throw', logger })
  const policies = [
    { name: 'a', quota: perMinute(3) },
    { name: 'b', quota: perMinute(3), onStoreError: fallback },
  ] as const
  const guard = httpGuard({ policies, store, logger }, plainReader)
  store.break('failing')
  return {
    guard,
    fallback,
    spare,
    left: async () => (await guard.byKey.peek('203.0.113.7', { policy: 'a' })).remaining,
  }
}

describe('a fallback limiter', () => {
  // Units that the store took late, and those that this process had counted, stayed taken.
  test('that fails leaves nothing taken', async () => {
    vi.useFakeTimers()
    const states = modelStore(fakeClock())
    const late: Store = {
      take: (ops) => new Promise((resolve) => setTimeout(() => resolve(states.takeSync(ops)), 30)),
      delete: (keys) => states.delete(keys),
    }
    const broken = faultyStore(modelStore(fakeClock()))
    broken.break('failing')
    const fallback = rateLimiter({ quota: perMinute(10), store: broken, onStoreError: 'throw', logger })
    const limiter = rateLimiter({ quota: perMinute(10), store: late, onStoreError: fallback, deadline: '20ms', logger })
    const failed = expect(limiter.consume('a', 4)).rejects.toThrow('The store failed')
    await vi.advanceTimersByTimeAsync(100)
    await failed
    expect((await rateLimiter({ quota: perMinute(10), store: states }).peek('a')).remaining).toBe(10)
  })

  test('that fails leaves nothing taken in this process', async () => {
    const { guard, spare, left } = setUp()
    await guard({})
    expect(await left()).toBe(2)
    spare.break('failing')
    await expect(guard({})).rejects.toThrow('The store failed')
    expect(await left()).toBe(2)
  })

  test('that denies a peek refunds nothing', async () => {
    const { guard, left } = setUp()
    await guard({})
    await guard({})
    expect(await left()).toBe(1)
    expect((await guard.byKey.peek('203.0.113.7')).allowed).toBe(false)
    expect(await left()).toBe(1)
  })
})
