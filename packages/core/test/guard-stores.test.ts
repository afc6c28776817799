import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type PolicyOptions, type RateLimitOptions } from '../src/http/index.ts'
import { perMinute, type RateLimiter, rateLimiter, type Store, StoreError } from '../src/index.ts'

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => {
  vi.useRealTimers()
})

/** Policies `a` and `b`, each with ten units in a store of its own elsewhere. */
function setUp(options: Partial<PolicyOptions<object>> = {}, common: Partial<RateLimitOptions<object>> = {}) {
  const clock = fakeClock()
  const inner = { a: modelStore(clock), b: modelStore(clock), instead: modelStore(clock) }
  const stores = { a: faultyStore(inner.a), b: faultyStore(inner.b) }
  const policies = [
    { name: 'a', quota: perMinute(10), store: stores.a },
    { name: 'b', quota: perMinute(10), store: stores.b, ...options },
  ]
  const guard = httpGuard(
    { policies, store: stores.a, ...common } as RateLimitOptions<object> & { store: Store },
    plainReader,
  )
  const fallback = rateLimiter({ name: 'fallback', quota: perMinute(1), store: inner.instead })
  const leftIn = async (limiter: RateLimiter, key = '203.0.113.7') => (await limiter.peek(key)).remaining
  const left = async () => [
    await leftIn(rateLimiter({ name: 'a', quota: perMinute(10), store: inner.a })),
    await leftIn(rateLimiter({ name: 'b', quota: perMinute(10), store: inner.b })),
  ]
  return { guard, send: async () => guard({}), stores, fallback, left, leftIn }
}

describe('when the second of two stores fails', () => {
  test("'allow' allows the request, which the first has counted, and reports that alone", async () => {
    const { send, stores, left } = setUp({ onStoreError: 'allow' })
    stores.b.break('failing')
    const { decision, headers, denial } = await send()
    expect(denial).toBeUndefined()
    expect(headers).toEqual([
      ['RateLimit-Policy', '"a";q=10;w=60'],
      ['RateLimit', '"a";r=9;t=6'],
    ])
    expect(decision).toMatchObject({ policy: 'a', remaining: 9, degraded: { reason: 'error', action: 'allow' } })
    expect(await left()).toEqual([9, 10])
  })

  test("'deny' denies it, and the first is rolled back", async () => {
    const { send, stores, left } = setUp({ onStoreError: 'deny' })
    stores.b.break('failing')
    const { decision, headers, denial } = await send()
    expect(denial?.status).toBe(503)
    expect(headers[1]).toEqual(['RateLimit', '"a";r=10'])
    expect(decision).toMatchObject({ policy: 'b', violated: ['b'], degraded: { action: 'deny' } })
    expect(await left()).toEqual([10, 10])
  })

  test("'throw' passes the error on, and the first is rolled back", async () => {
    const { send, stores, left } = setUp({ onStoreError: 'throw' })
    stores.b.break('failing')
    await expect(send()).rejects.toThrow(StoreError)
    expect(await left()).toEqual([10, 10])
  })

  test('a fallback limiter is asked, and what it denies is consumed nowhere', async () => {
    const { guard, fallback, stores, left } = setUp()
    guard.replace([
      { name: 'a', quota: perMinute(10), store: stores.a },
      { name: 'b', quota: perMinute(10), store: stores.b, onStoreError: fallback },
    ])
    stores.b.break('failing')
    expect((await guard({})).denial).toBeUndefined()
    const { decision, headers, denial } = await guard({})
    expect(denial?.status).toBe(429)
    expect(headers).toEqual([
      ['RateLimit-Policy', '"a";q=10;w=60'],
      ['RateLimit', '"a";r=9;t=6'],
      ['Retry-After', '60'],
    ])
    expect(decision).toMatchObject({ policy: 'b', violated: ['b'], degraded: { action: 'fallback' } })
    expect(await left()).toEqual([9, 10])
  })
})

describe('when the first of two stores fails and the second denies', () => {
  const denying = async (options: Partial<PolicyOptions<object>> = {}) => {
    const all = setUp(options)
    await all.send()
    for (let i = 0; i < 9; i++) await all.send()
    return all
  }

  test('the denial is that of the second', async () => {
    const { send, stores } = await denying()
    stores.a.break('failing')
    const { headers, denial } = await send()
    expect(denial?.status).toBe(429)
    expect(headers.slice(1)).toEqual([
      // What this process has counted of the first.
      ['RateLimit', '"a";r=10, "b";r=0;t=6'],
      ['Retry-After', '6'],
    ])
  })

  test('a fallback limiter that was asked is refunded', async () => {
    const { guard, fallback, stores, leftIn } = await denying()
    guard.replace([
      { name: 'a', quota: perMinute(10), store: stores.a, onStoreError: fallback },
      { name: 'b', quota: perMinute(10), store: stores.b },
    ])
    stores.a.break('failing')
    expect((await guard({})).denial?.status).toBe(429)
    expect(await leftIn(fallback)).toBe(1)
  })

  test('what the first takes too late goes back', async () => {
    vi.useFakeTimers()
    const { send, stores, left } = setUp()
    for (let i = 0; i < 5; i++) await send()
    const b = rateLimiter({ name: 'b', quota: perMinute(10), store: stores.b })
    await b.consume('203.0.113.7', 5)
    stores.a.break('slow')
    const sent = send()
    await vi.advanceTimersByTimeAsync(50)
    expect((await sent).denial?.status).toBe(429)
    stores.a.break('none')
    vi.useRealTimers()
    await stores.a.thaw()
    expect(await left()).toEqual([5, 0])
  })
})

describe('policies in two stores', () => {
  test('ask the in-memory store first: its denial saves the call to the other', async () => {
    const clock = fakeClock()
    const far = faultyStore(modelStore(clock))
    const guard = httpGuard<object>(
      {
        policies: [
          { name: 'far', quota: perMinute(10), store: far },
          { name: 'near', quota: perMinute(1) },
        ],
        store: modelStore(clock),
        headers: 'draft-11',
      },
      plainReader,
    )
    await guard({})
    const calls = far.calls
    expect((await guard({})).headers[1]).toEqual(['RateLimit', '"far";r=9;t=6, "near";r=0;t=60'])
    // One call: it tells what it has left, and has nothing to give back.
    expect(far.calls - calls).toBe(1)
  })

  test('answer at once when both are in this process', () => {
    const clock = fakeClock()
    const guard = httpGuard<object>(
      {
        policies: [
          { name: 'a', quota: perMinute(1), store: modelStore(clock) },
          { name: 'b', quota: perMinute(1), store: modelStore(clock) },
        ],
        store: modelStore(clock),
      },
      plainReader,
    )
    expect([guard({}), guard({})].map((verdict) => verdict instanceof Promise)).toEqual([false, false])
  })

  test('are corrected, each in its own, and held back by the later turn', async () => {
    vi.useFakeTimers()
    const { guard, left } = setUp({ quota: perMinute(60, { burst: 1 }) }, { maxWait: '2s' })
    const { decision } = await guard({})
    await decision?.settle(4, 'a')
    const held = guard({})
    let passed = false
    void Promise.resolve(held).then(() => {
      passed = true
    })
    await vi.advanceTimersByTimeAsync(999)
    expect(passed).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(passed).toBe(true)
    expect((await left())[0]).toBe(5)
  })

  test('that is invalid is rejected', () => {
    expect(() => setUp({ store: {} as Store })).toThrow('store must be a store')
  })
})
