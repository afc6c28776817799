import {
  fakeClock,
  faultyStore,
  historiesOf,
  modelStore,
  momentsOf,
  quotas,
  quotasOf,
  START,
} from '@spillway/conformance'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  perMinute,
  perSecond,
  type Quota,
  QuotaError,
  rateLimiter,
  slidingLog,
  stepFor,
  tokenBucket,
  withLeases,
} from '../src/index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Some processes that lease from one store, with one clock. */
function setUp(quota: Quota = perSecond(1_000), { processes = 1, requests = 100 } = {}) {
  const clock = fakeClock()
  const shared = faultyStore(modelStore(clock))
  const stores = Array.from({ length: processes }, () =>
    withLeases(shared, { requests, stopwatch: () => clock() / 1000 }),
  )
  const limiters = stores.map((store) => rateLimiter({ quota, store, name: 'p', onStoreError: 'throw' }))
  const [limiter, other = limiter] = limiters as [(typeof limiters)[0], (typeof limiters)[0]]
  const direct = rateLimiter({ quota, store: shared, name: 'p' })
  return { clock, shared, stores, limiters, limiter, other, direct }
}

// While the store's clock steps back, states are mended that are too far ahead, and leased units with them.
const forth = quotas
  .chain((quota) => historiesOf([quota]))
  .map((calls) => calls.map((call) => ({ ...call, after: Math.abs(call.after) })))

test('a process that leases alone answers as the store would, whatever the history', async () => {
  await fc.assert(
    fc.asyncProperty(forth, fc.integer({ min: 2, max: 9 }), async (history, requests) => {
      const model = modelStore(() => START)
      const store = withLeases(faultyStore(modelStore(() => START)), { requests })
      const moments = momentsOf(history)
      for (const [i, { ops }] of history.entries()) {
        expect(await store.take(ops, moments[i])).toEqual(model.takeSync(ops, moments[i]))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('processes that lease together admit nothing that the bucket would not', async () => {
  const buckets = fc.oneof(quotasOf['token bucket'], quotasOf['interval refill'], quotasOf['fixed window'])
  const request = fc.record({
    process: fc.nat(2),
    cost: fc.integer({ min: 1, max: 4 }),
    afterMicros: fc.oneof(fc.constant(0), fc.nat(3_000), fc.nat(2_000_000)),
  })
  await fc.assert(
    fc.asyncProperty(buckets, fc.array(request, { maxLength: 60 }), async (quota, requests) => {
      const { clock, limiters } = setUp(quota, { processes: 3, requests: 4 })
      // What has been admitted is put to a bucket of its own, which must have room for all of it.
      const bucket = modelStore(clock)
      for (const { process, cost, afterMicros } of requests) {
        clock.advanceMicros(afterMicros)
        if (!(await limiters[process]?.consume('a', cost))?.allowed) continue
        const [taken] = bucket.takeSync([{ policy: 'p', key: 'a', step: stepFor(quota, 'consume', cost) }])
        expect(taken?.allowed).toBe(true)
      }
    }),
    { numRuns: 2_000 },
  )
})

describe('a lease', () => {
  test('of a hundred requests costs one call', async () => {
    const { limiter, shared } = setUp()
    for (let i = 0; i < 100; i++)
      expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 999 - i })
    expect(shared.calls).toBe(1)
    await limiter.consume('a')
    expect(shared.calls).toBe(2)
  })

  test('is waited for by those who come together', async () => {
    const { limiter, shared } = setUp()
    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.consume('a')))
    expect(decisions.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 500 }, (_, i) => 999 - i))
    expect(shared.calls).toBe(5)
  })

  test('takes half of what a small bucket holds, and then one by one', async () => {
    const { limiter, direct } = setUp(perMinute(10))
    await limiter.consume('a')
    expect((await direct.peek('a')).remaining).toBe(5)
    for (let i = 0; i < 9; i++) expect((await limiter.consume('a')).allowed).toBe(true)
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 6_000 })
  })

  test('leaves to others what it has not taken, and keeps from them what it holds', async () => {
    const { limiter, other } = setUp(perMinute(100), { processes: 2, requests: 40 })
    await limiter.consume('a')
    const admitted = await Promise.all(Array.from({ length: 100 }, () => other.consume('a')))
    expect(admitted.filter(({ allowed }) => allowed)).toHaveLength(60)
  })

  test('is given back when nobody has spent of it for a second', async () => {
    const { clock, limiter, direct } = setUp(perMinute(100))
    await limiter.consume('a')
    clock.advance(999)
    await vi.advanceTimersByTimeAsync(999)
    expect((await direct.peek('a')).remaining).toBe(51)
    clock.advance(1)
    await vi.advanceTimersByTimeAsync(1)
    // One was spent, and more than one has come back since.
    expect((await direct.peek('a')).remaining).toBe(100)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is given back at once when the process says so', async () => {
    const { stores, limiter, direct } = setUp(perMinute(100))
    await limiter.consume('a', 3)
    await stores[0]?.release()
    expect((await direct.peek('a')).remaining).toBe(97)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('does not outlive the bucket’s own refill: nothing is spent twice', async () => {
    const { clock, limiter, direct } = setUp(perSecond(100), { requests: 50 })
    await limiter.consume('a')
    // Half a second later the bucket is full again, leased units and all.
    clock.advance(500)
    await direct.consume('a', 100)
    expect((await limiter.consume('a')).allowed).toBe(false)
  })

  test('ends before anything else is asked of its key', async () => {
    const { limiter } = setUp(perMinute(100))
    await limiter.consume('a')
    expect((await limiter.peek('a')).remaining).toBe(99)
    expect((await limiter.refund('a')).remaining).toBe(100)
    await limiter.consume('a')
    expect((await limiter.charge('a', 150)).remaining).toBe(0)
    await limiter.reset('a')
    expect((await limiter.consume('a', 100)).allowed).toBe(true)
  })

  test('is not taken of a window or a log', async () => {
    const { limiter, shared } = setUp(slidingLog({ limit: 100, window: '1m' }))
    for (let i = 0; i < 10; i++) await limiter.consume('a')
    expect(shared.calls).toBe(10)
  })

  test('that cannot be had fails for all who waited, and may be had again', async () => {
    const { limiter, shared } = setUp()
    shared.break('failing')
    const answers = await Promise.allSettled([limiter.consume('a'), limiter.consume('a'), limiter.consume('a')])
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(shared.calls).toBe(1)
    shared.break('none')
    expect((await limiter.consume('a')).allowed).toBe(true)
  })

  test('that cannot be given back is no error to anybody', async () => {
    const { clock, limiter, shared } = setUp(perMinute(100))
    await limiter.consume('a')
    shared.break('failing')
    clock.advance(1_000)
    await vi.advanceTimersByTimeAsync(1_000)
    shared.break('none')
    expect((await limiter.consume('a')).remaining).toBe(50)
  })
})

test.each([{ requests: 1 }, { requests: 2.5 }, {}, { requests: 10, idle: 0 }, { units: 10 }])(
  'refuses %j',
  (options) => {
    expect(() =>
      withLeases(
        modelStore(() => START),
        options as never,
      ),
    ).toThrow(QuotaError)
  },
)

test('an overdraft is not leased', async () => {
  const { limiter, shared } = setUp(tokenBucket({ limit: 100, per: '1s', overdraft: 10 }))
  for (let i = 0; i < 10; i++) await limiter.consume('a')
  expect(shared.calls).toBe(10)
})
