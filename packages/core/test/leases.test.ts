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
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import {
  perMinute,
  perSecond,
  QuotaError,
  type RateLimiter,
  rateLimiter,
  slidingLog,
  type Taken,
  tokenBucket,
  withLeases,
} from '../src/index.ts'
import { stepFor } from '../src/internal.ts'
import { grossOf } from '../src/kernels/bucket-taken.ts'
import { isBefore } from '../src/kernels/fraction.ts'
import { allowedOf, consume, setUp } from './leasing.ts'

// While the store's clock steps back, states are mended that are too far ahead, and leased units with them.
// And where a quota that refills at intervals becomes one that does not, the same state is read as another moment.
const changing = fc.oneof(
  quotas.map((quota) => [quota]),
  fc.tuple(quotasOf['token bucket'], quotasOf['token bucket']),
)
const forth = changing
  .chain(historiesOf)
  .map((calls) => calls.map((call) => ({ ...call, after: Math.abs(call.after) })))

/**
 * Once a refund or a shorter quota has moved takes down, `gross` is ahead of `tat`. A lease that the bucket has refilled in part
 * returns the rest alone, so that `gross` may then be later than without a lease, and a refund by it may return less.
 */
const isMoved = (taken: Taken): boolean => 'gross' in taken
const withoutGross = (taken: Taken): object => ('gross' in taken ? { ...taken, gross: undefined } : taken)

test('a process that leases alone answers as the store would, whatever the history and the changes of its quota', async () => {
  await fc.assert(
    fc.asyncProperty(forth, fc.integer({ min: 2, max: 9 }), async (history, requests) => {
      const model = modelStore(() => START)
      const store = withLeases(faultyStore(modelStore(() => START)), { requests, maxLoss: '1h' })
      const moments = momentsOf(history)
      let moved = false
      for (const [i, { ops }] of history.entries()) {
        const [taken, expected] = [await store.take(ops, moments[i]), model.takeSync(ops, moments[i])]
        moved ||= expected.some(isMoved)
        if (!moved) expect(taken).toEqual(expected)
        expect(taken.map(withoutGross)).toEqual(expected.map(withoutGross))
        for (const [j, each] of taken.entries()) {
          const without = expected[j] as Taken
          if (!('tat' in each && 'tat' in without)) continue
          expect(isBefore(grossOf(each), grossOf(without))).toBe(false)
        }
      }
    }),
    { numRuns: runsOf(500) },
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
    { numRuns: runsOf(500) },
  )
})

describe('a lease', () => {
  test('is not spent by a request of another quota that has waited for it', async () => {
    const { shared, stores, limiter, direct } = setUp(perMinute(20))
    await consume(limiter, 1)
    shared.break('slow')
    const first = limiter.consume('a')
    const step = stepFor(perSecond(1_000, { burst: 100_000 }), 'consume', 1)
    const second = stores[0]?.take([{ policy: 'p', key: 'a', step }])
    shared.break('none')
    await shared.thaw()
    expect((await first).allowed).toBe(true)
    expect((await second)?.[0]?.allowed).toBe(true)
    // Two units of three seconds each, and one of a millisecond. The rest of the lease was returned.
    expect((await direct.peek('a')).resetAfterMs).toBe(6_001)
  })

  test('ends before anything else is asked of its key', async () => {
    const { limiter } = setUp(perMinute(100))
    await consume(limiter, 2)
    expect((await limiter.peek('a')).remaining).toBe(98)
    expect((await limiter.refund('a', 2)).remaining).toBe(100)
    await consume(limiter, 2)
    expect((await limiter.charge('a', 150)).remaining).toBe(0)
    await limiter.reset('a')
    expect((await limiter.consume('a', 100)).allowed).toBe(true)
  })

  // The lease was taken before the reset and reported after it: 150 of 100 were admitted.
  test('that is asked for in the tick of a reset is not spent after it', async () => {
    const { limiter } = setUp(perMinute(100), { requests: 50 })
    await consume(limiter, 32)
    const [consumed] = await Promise.all([limiter.consume('a'), limiter.reset('a')])
    expect(consumed.allowed).toBe(true)
    expect(await allowedOf(limiter, 200)).toBe(100)
  })

  // It had ended here, and counted again as soon as an answer had an earlier time: simulated by seed 434494577.
  test('that has ended is not spent after the clock of the store has stepped back', async () => {
    const [clock, local] = [fakeClock(), fakeClock()]
    const shared = faultyStore(modelStore(clock))
    const leased = withLeases(shared, { requests: 10, maxLoss: '1h', stopwatch: () => local() / 1000 })
    const [limiter, other] = [leased, shared].map((store) =>
      rateLimiter({ quota: perSecond(10), store, name: 'p' }),
    ) as [RateLimiter, RateLimiter]
    const advance = (millis: number): void => {
      clock.advance(millis)
      local.advance(millis)
    }
    await consume(limiter, 2)
    expect((await other.peek('a')).remaining).toBe(7)
    advance(1_000)
    clock.advance(-3_600_000)
    expect((await other.consume('a')).allowed).toBe(false)
    advance(500)
    const { calls } = shared
    expect((await limiter.consume('a', 3)).remaining).toBe(2)
    expect([await allowedOf(limiter, 9), shared.calls > calls]).toEqual([2, true])
  })

  test('is not taken for a long key', async () => {
    const { limiter, shared } = setUp()
    await consume(limiter, 10, 'a'.repeat(15_000))
    expect(shared.calls).toBe(10)
  })

  test('is not taken of a window or a log', async () => {
    const { limiter, shared } = setUp(slidingLog({ limit: 100, window: '1m' }))
    for (let i = 0; i < 10; i++) await limiter.consume('a')
    expect(shared.calls).toBe(10)
  })
})

test.each([
  { requests: 1 },
  { requests: 2.5 },
  {},
  { requests: 10, idle: 0 },
  { requests: 10, maxLoss: 0 },
  { units: 10 },
])('rejects %j', (options) => {
  expect(() =>
    withLeases(
      modelStore(() => START),
      options as never,
    ),
  ).toThrow(QuotaError)
})

test('an overdraft is not leased', async () => {
  const { limiter, shared } = setUp(tokenBucket({ limit: 100, per: '1s', overdraft: 10 }))
  for (let i = 0; i < 10; i++) await limiter.consume('a')
  expect(shared.calls).toBe(10)
})
