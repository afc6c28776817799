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
  type LeaseOptions,
  perMinute,
  perSecond,
  type Quota,
  QuotaError,
  rateLimiter,
  type Store,
  slidingLog,
  type Taken,
  tokenBucket,
  withLeases,
} from '../src/index.ts'
import { stepFor } from '../src/internal/index.ts'
import { grossOf } from '../src/kernels/bucket-taken.ts'
import { isBefore } from '../src/kernels/fraction.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

interface Options extends Omit<LeaseOptions, 'requests' | 'stopwatch'> {
  readonly processes?: number
  readonly requests?: number
}

/** Some processes that lease from one store, with one clock. */
function setUp(
  quota: Quota = perSecond(1_000),
  { processes = 1, requests = 100, maxLoss = '1h', ...options }: Options = {},
) {
  const clock = fakeClock()
  const shared = faultyStore(modelStore(clock))
  const stores = Array.from({ length: processes }, () =>
    withLeases(shared, { requests, maxLoss, ...options, stopwatch: () => clock() / 1000 }),
  )
  const limiters = stores.map((store) =>
    rateLimiter({ quota, store, name: 'p', deadline: '1h', onStoreError: 'throw' }),
  )
  const [limiter, other = limiter] = limiters as [(typeof limiters)[0], (typeof limiters)[0]]
  const direct = rateLimiter({ quota, store: shared, name: 'p' })
  return { clock, shared, stores, limiters, limiter, other, direct }
}

type Limiter = ReturnType<typeof setUp>['limiter']

const consume = async (limiter: Limiter, times: number, key = 'a'): Promise<void> => {
  for (let i = 0; i < times; i++) expect((await limiter.consume(key)).allowed).toBe(true)
}
const allowedOf = async (limiter: Limiter, times: number): Promise<number> => {
  const decisions = await Promise.all(Array.from({ length: times }, () => limiter.consume('a')))
  return decisions.filter(({ allowed }) => allowed).length
}

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
  test('is not taken for the first request of a key, nor for one now and then', async () => {
    const { clock, limiter, shared, direct } = setUp()
    for (let i = 1; i < 5; i++) {
      await consume(limiter, 1)
      expect(shared.calls).toBe(i)
      clock.advance(1_001)
    }
    await consume(limiter, 1)
    expect((await direct.peek('a')).remaining).toBe(999)
  })

  test('doubles each time it is used up: 100 requests cost 7 calls, and each 100 after them one', async () => {
    const { limiter, shared } = setUp(perSecond(10_000))
    for (let i = 0; i < 127; i++)
      expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 9_999 - i })
    expect(shared.calls).toBe(7)
    await consume(limiter, 1_000)
    expect(shared.calls).toBe(17)
  })

  test('halves when it is returned', async () => {
    const { limiter, direct, stores } = setUp(perSecond(10_000))
    await consume(limiter, 127)
    const heldOf = async (): Promise<number> => {
      await consume(limiter, 1)
      const { remaining } = await direct.peek('a')
      await stores[0]?.release()
      return (await direct.peek('a')).remaining - remaining
    }
    // Each is doubled when it is taken, to a hundred at most, and halved when it is returned.
    const sizes = [await heldOf(), await heldOf(), await heldOf()]
    expect(sizes).toEqual([99, 49, 49])
  })

  test('halves when it is denied', async () => {
    const { limiter, direct } = setUp(perMinute(1_000))
    await consume(limiter, 63)
    await direct.consume('a', 1_000 - 63 - 20)
    // The next one would be for 64 requests: it is denied, and the request allowed by itself.
    await consume(limiter, 1)
    await direct.reset('a')
    // The bucket is not known to be full again: half of the 19 that were left are leased before.
    await consume(limiter, 9 + 1)
    const { remaining } = await direct.peek('a')
    await limiter.peek('a')
    expect((await direct.peek('a')).remaining - remaining).toBe(31)
  })

  test('is waited for by those who come together, who then need one more call for all', async () => {
    const { limiter, shared } = setUp(perSecond(10_000))
    await consume(limiter, 127)
    const { calls } = shared
    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.consume('a')))
    expect(decisions.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 500 }, (_, i) => 9_872 - i))
    expect(shared.calls).toBe(calls + 2)
  })

  test('is for half of what is left in the bucket', async () => {
    const { limiter, direct } = setUp(perMinute(10))
    await consume(limiter, 2)
    // Nine were left, and a lease of two was taken; then seven, three of which are leased.
    expect((await direct.peek('a')).remaining).toBe(7)
    await consume(limiter, 2)
    expect((await direct.peek('a')).remaining).toBe(4)
    await consume(limiter, 6)
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 6_000 })
  })

  test('leaves to others what it has not taken, and keeps from them what it holds', async () => {
    const { limiter, other } = setUp(perMinute(100), { processes: 2, requests: 40 })
    await consume(limiter, 32)
    // 1 + 2 + 4 + 8 + 16 are spent, and one of the 32 that are leased: half of what was left is 34.
    expect(await allowedOf(other, 100)).toBe(100 - 31 - 32)
    expect(await allowedOf(limiter, 100)).toBe(31)
  })

  test('is returned when it was unused for a second', async () => {
    const { clock, limiter, direct } = setUp(perMinute(100))
    await consume(limiter, 4)
    expect((await direct.peek('a')).remaining).toBe(93)
    clock.advance(999)
    await vi.advanceTimersByTimeAsync(999)
    expect((await direct.peek('a')).remaining).toBe(94)
    clock.advance(1)
    await vi.advanceTimersByTimeAsync(1)
    // One has been refilled since.
    expect((await direct.peek('a')).remaining).toBe(97)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is kept while it is used, and returned when it no longer is', async () => {
    const { clock, limiter, direct } = setUp(perMinute(100))
    await consume(limiter, 4)
    const pass = async (millis: number): Promise<number> => {
      clock.advance(millis)
      await vi.advanceTimersByTimeAsync(millis)
      return (await direct.peek('a')).remaining
    }
    await pass(500)
    await consume(limiter, 1)
    expect(await pass(500)).toBe(94)
    expect(vi.getTimerCount()).toBe(1)
    // Two are returned, and two refilled meanwhile.
    expect(await pass(1_000)).toBe(98)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is returned at once when the process says so', async () => {
    const { stores, limiter, direct } = setUp(perMinute(100))
    await consume(limiter, 4)
    await stores[0]?.release()
    expect((await direct.peek('a')).remaining).toBe(96)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that is being taken is returned too when the process says so', async () => {
    const { stores, shared, limiter, direct } = setUp(perMinute(100))
    await consume(limiter, 3)
    shared.break('slow')
    const [consumed, released] = [limiter.consume('a'), stores[0]?.release()]
    shared.break('none')
    await shared.thaw()
    await released
    expect((await consumed).allowed).toBe(true)
    expect((await direct.peek('a')).remaining).toBe(96)
    expect(vi.getTimerCount()).toBe(0)
  })

  // The process closed the store's client before the units were sent, and they stayed taken.
  test('that is being returned is waited for when the process says so', async () => {
    const { clock, stores, shared, limiter, direct } = setUp(perMinute(100))
    await consume(limiter, 4)
    shared.break('slow')
    clock.advance(1_000)
    await vi.advanceTimersByTimeAsync(1_000)
    let isReleased = false
    const released = stores[0]?.release().then(() => {
      isReleased = true
    })
    await vi.advanceTimersByTimeAsync(0)
    expect(isReleased).toBe(false)
    shared.break('none')
    await shared.thaw()
    await released
    expect((await direct.peek('a')).remaining).toBe(97)
  })

  test('does not outlive the bucket’s own refill: nothing is spent twice', async () => {
    const { clock, limiter, direct } = setUp(perSecond(100), { requests: 50 })
    await consume(limiter, 32)
    // A second later the bucket is full again, leased units and all.
    clock.advance(1_000)
    await direct.consume('a', 100)
    expect((await limiter.consume('a')).allowed).toBe(false)
  })

  // What one process returned moved the lease of another down, which did not know of it: 103 of 100 were admitted.
  test('is not returned from below that of another process', async () => {
    const { clock, stores, limiter, other, direct } = setUp(perSecond(100), { processes: 2 })
    await consume(other, 4)
    await consume(limiter, 32)
    await stores[1]?.release()
    clock.advance(650)
    const { remaining } = await direct.peek('a')
    await direct.consume('a', remaining)
    expect(remaining + (await allowedOf(limiter, 20))).toBe(100)
  })

  // Our clock counts from before the store was asked: what the bucket refills while an answer is late is not spent.
  test('is as old as the call for it, however late that is answered', async () => {
    const clock = fakeClock()
    const model = modelStore(clock)
    let delayMs = 0
    const late: Store = {
      ...faultyStore(model),
      async take(ops) {
        const taken = model.takeSync(ops)
        clock.advance(delayMs)
        return taken
      },
    }
    const quota = perSecond(100)
    const store = withLeases(late, { requests: 50, stopwatch: () => clock() / 1000 })
    const [limiter, direct] = [store, late].map((each) =>
      rateLimiter({ quota, store: each, name: 'p', deadline: '1h' }),
    ) as [Limiter, Limiter]
    await consume(limiter, 7)
    // Eight are taken, after seven; both are refilled before the answer comes.
    delayMs = 150
    await consume(limiter, 1)
    delayMs = 0
    expect((await direct.consume('a', 100)).allowed).toBe(true)
    expect(await allowedOf(limiter, 10)).toBe(0)
  })

  // Three seconds leased of one quota would be three thousand units of the other.
  test('is returned when the quota is another', async () => {
    const { clock, stores, limiter, direct } = setUp(perMinute(20))
    const step = stepFor(perSecond(1_000), 'consume', 1)
    await consume(limiter, 2)
    expect((await direct.peek('a')).remaining).toBe(17)
    clock.advance(5_500)
    expect((await stores[0]?.take([{ policy: 'p', key: 'a', step }]))?.[0]?.allowed).toBe(true)
    // Half a second of the first two is left.
    expect((await direct.peek('a')).resetAfterMs).toBe(501)
  })

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
    // Three units of three seconds each, and a millisecond that the store was asked for.
    expect((await direct.peek('a')).resetAfterMs).toBe(9_001)
  })

  test('that is answered a second late is not kept, as other calls did not wait for it', async () => {
    const clock = fakeClock()
    const model = modelStore(clock)
    let [delayMs, calls] = [0, 0]
    const late: Store = {
      ...faultyStore(model),
      async take(ops) {
        calls++
        const taken = model.takeSync(ops)
        clock.advance(delayMs)
        return taken
      },
    }
    const store = withLeases(late, { requests: 50, maxLoss: '1h', stopwatch: () => clock() / 1000 })
    const limiter = rateLimiter({ quota: perMinute(100), store, name: 'p', deadline: '1h' })
    await consume(limiter, 7)
    delayMs = 1_001
    await consume(limiter, 1)
    delayMs = 0
    await consume(limiter, 1)
    expect(calls).toBe(5)
  })

  // Without an end to the wait, the key would fail in this process for as long as it runs.
  test('that the store never answers is not waited for by those who come a second later', async () => {
    const { clock, shared, limiter, stores } = setUp()
    await consume(limiter, 3)
    shared.break('frozen')
    void limiter.consume('a')
    shared.break('none')
    clock.advance(1_001)
    await consume(limiter, 1)
    expect((await limiter.peek('a')).allowed).toBe(true)
    await stores[0]?.release()
  })

  test('is not taken for a caller who has stopped waiting', async () => {
    const { shared, stores, limiter } = setUp()
    await consume(limiter, 3)
    shared.break('slow')
    const take = { policy: 'p', key: 'a', step: stepFor(perSecond(1_000), 'consume', 400) }
    const first = limiter.consume('a')
    const late = stores[0]?.take([take], undefined, { atMs: performance.now() - 1 })
    const refund = { ...take, step: stepFor(perSecond(1_000), 'refund', 1) }
    const lateRefund = stores[0]?.take([refund], undefined, { atMs: performance.now() - 1 })
    const ends = Promise.allSettled([late, lateRefund])
    shared.break('none')
    await shared.thaw()
    expect((await first).allowed).toBe(true)
    expect(await ends).toMatchObject([
      { status: 'rejected', reason: { code: 'ERR_SPILLWAY_STORE', reason: 'timeout' } },
      { status: 'rejected', reason: { code: 'ERR_SPILLWAY_STORE', reason: 'timeout' } },
    ])
    expect((await limiter.peek('a')).remaining).toBe(996)
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

  test('is for one request again where 10,000 other keys were asked about meanwhile', async () => {
    const { limiter, shared } = setUp()
    await consume(limiter, 3)
    for (let i = 0; i < 9_999; i++) await limiter.consume(`fresh-${i}`)
    const { calls } = shared
    await consume(limiter, 3)
    expect(shared.calls).toBe(calls + 1)
    // A lease that is held stays.
    for (let i = 0; i < 10_000; i++) await limiter.consume(`more-${i}`)
    const held = shared.calls
    await consume(limiter, 1)
    expect(shared.calls).toBe(held)
    await limiter.peek('a')
    for (let i = 0; i < 10_000; i++) await limiter.consume(`other-${i}`)
    const after = shared.calls
    await consume(limiter, 2)
    expect(shared.calls).toBe(after + 2)
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

  test('that cannot be taken fails for all who waited, and may be taken again', async () => {
    const { limiter, shared } = setUp()
    await consume(limiter, 3)
    const { calls } = shared
    shared.break('failing')
    const answers = await Promise.allSettled([limiter.consume('a'), limiter.consume('a'), limiter.consume('a')])
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(shared.calls).toBe(calls + 1)
    shared.break('none')
    await consume(limiter, 1)
  })

  // Reproduces a bug: with a server that was down, a process that awaited `release` on SIGTERM never ended.
  test('that the store does not take back is waited for 10 seconds when the process says so', async () => {
    const { limiter, shared, stores } = setUp(perMinute(100))
    await consume(limiter, 4)
    shared.break('frozen')
    let isOver = false
    const released = stores[0]?.release().then(() => {
      isOver = true
    })
    await vi.advanceTimersByTimeAsync(9_999)
    expect(isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await released
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that cannot be returned causes no error', async () => {
    const { clock, limiter, shared, stores } = setUp(perMinute(100))
    await consume(limiter, 4)
    shared.break('failing')
    await stores[0]?.release()
    clock.advance(1_000)
    shared.break('none')
    expect((await limiter.consume('a')).remaining).toBe(93)
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
