import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  consumeAll,
  type Decision,
  fixedWindow,
  perMinute,
  type Quota,
  type RateLimiter,
  rateLimiter,
  type Store,
  StoreError,
  slidingLog,
  slidingWindow,
  type Take,
  withDenyCache,
  withLeases,
} from '../src/index.ts'

// Where no one store can take all or none, several are asked in turn. Nobody can tell the difference.

const QUOTAS: Readonly<Record<string, Quota>> = {
  bucket: perMinute(10),
  window: fixedWindow({ limit: 9, window: '1m' }),
  log: slidingLog({ limit: 8, window: '1m' }),
}

/** A store of several parts, which denies a batch that is not of one. */
function partedStore(clock: () => number, partOf: (policy: string) => number): Store {
  const inner = modelStore(clock)
  const check = (ops: readonly Take[]): void => {
    if (new Set(ops.map(({ policy }) => partOf(policy))).size > 1) throw new Error('CROSSSLOT')
  }
  return {
    take: async (ops, at) => {
      check(ops)
      return inner.take(ops, at)
    },
    delete: inner.delete,
    slotOf: ({ policy }) => partOf(policy),
  }
}

/** Limiters, one for each quota, on the stores that are given for them. */
const limitersOn = (storeFor: (name: string) => Store): RateLimiter[] =>
  Object.entries(QUOTAS).map(([name, quota]) => rateLimiter({ name, quota, store: storeFor(name) }))

async function decided(takes: Parameters<typeof consumeAll>[0]): Promise<Decision> {
  const { commit, cancel, ...decision } = await consumeAll(takes)
  return decision
}

const places = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 3, maxLength: 3 })
const history = fc.array(
  fc.record({
    waitMs: fc.constantFrom(0, 0, 1, 999, 7_500, 31_000, 60_000),
    costs: fc.tuple(...[10, 9, 8].map((most) => fc.integer({ min: 1, max: most + 1 }))),
  }),
  { maxLength: 15 },
)

describe('policies that live apart', () => {
  test.each<[string, (clock: () => number, places: readonly number[]) => (name: string) => Store]>([
    [
      'in several stores',
      (clock, places) => {
        const stores = [0, 1, 2].map(() => modelStore(clock))
        return (name) => stores[places[Object.keys(QUOTAS).indexOf(name)] as number] as Store
      },
    ],
    [
      'some here and some elsewhere',
      (clock, places) => {
        const stores = [0, 1, 2].map((i) => (i === 1 ? modelStore(clock) : faultyStore(modelStore(clock))))
        return (name) => stores[places[Object.keys(QUOTAS).indexOf(name)] as number] as Store
      },
    ],
    [
      'in several parts of one store',
      (clock, places) => {
        const store = partedStore(clock, (policy) => places[Object.keys(QUOTAS).indexOf(policy)] as number)
        return () => store
      },
    ],
  ])('%s are taken all or none, and say the same as in one', async (_, storesOn) => {
    await fc.assert(
      fc.asyncProperty(places, history, async (places, history) => {
        const clock = fakeClock()
        const store = modelStore(clock)
        const together = limitersOn(() => store)
        const apart = limitersOn(storesOn(clock, places))
        const takesOf = (limiters: RateLimiter[], costs: readonly number[]) =>
          limiters.map((limiter, i) => [limiter, 'alice', costs[i] as number] as const)
        for (const { waitMs, costs } of history) {
          clock.advance(waitMs)
          expect(await decided(takesOf(apart, costs))).toEqual(await decided(takesOf(together, costs)))
        }
      }),
    )
  })

  test('a sliding window is refunded, though it remains started if the denied request has started it', async () => {
    const clock = fakeClock()
    const quota = slidingWindow({ limit: 2, window: '1m' })
    const window = rateLimiter({ quota, store: modelStore(clock) })
    const full = rateLimiter({ quota: perMinute(1), store: modelStore(clock) })
    await full.consume('alice')
    const both = () =>
      consumeAll([
        [window, 'alice'],
        [full, 'alice'],
      ])
    expect(await both()).toMatchObject({ allowed: false, policies: [{ remaining: 2 }, { remaining: 0 }] })
    clock.advance(10_000)
    expect(await window.consume('alice')).toMatchObject({ remaining: 1, resetAfterMs: 110_000 })
  })

  test('a key may be asked for twice where the stores are two', async () => {
    const [one, other] = [0, 1].map(() => rateLimiter({ quota: perMinute(10), store: modelStore(fakeClock()) }))
    const decision = await consumeAll([
      [one as RateLimiter, 'alice', 3],
      [other as RateLimiter, 'alice', 4],
    ])
    expect(decision.policies?.map(({ remaining }) => remaining)).toEqual([7, 6])
  })

  test('a store before another has its parts', async () => {
    const store = partedStore(fakeClock(), (policy) => policy.length)
    for (const before of [withDenyCache(store), withLeases(store, { requests: 2 })]) {
      expect(before.slotOf?.({ policy: 'abc', key: 'alice' })).toBe(3)
    }
    expect(withDenyCache(modelStore(fakeClock())).slotOf).toBeUndefined()
  })

  test('a limiter of several quotas is one, wherever they are kept', async () => {
    const store = partedStore(fakeClock(), (policy) => policy.length)
    const limiter = rateLimiter({ quotas: { a: perMinute(5), bb: perMinute(3) }, store })
    await limiter.consume('alice', 2)
    expect((await limiter.consume('alice', 2)).allowed).toBe(false)
    const left = async () => (await limiter.peek('alice')).policies?.map(({ remaining }) => remaining)
    expect(await left()).toEqual([3, 1])
    await limiter.refund('alice', 1)
    expect(await left()).toEqual([4, 2])
    await limiter.charge('alice', 3)
    expect(await left()).toEqual([1, 0])
    await limiter.reset('alice')
    expect(await left()).toEqual([5, 3])
  })
})

describe('when one of several stores fails', () => {
  beforeEach(() => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const setUp = () => {
    const clock = fakeClock()
    const inner = [0, 1, 2].map(() => modelStore(clock))
    const stores = inner.map((each) => faultyStore(each))
    const common = { quota: perMinute(5), deadline: 20, onStoreError: 'throw' } as const
    const limiters = stores.map((store, i) => rateLimiter({ name: `${i}`, store, ...common }))
    const all = () => consumeAll(limiters.map((limiter) => [limiter, 'alice'] as const))
    const left = () =>
      Promise.all(
        inner.map(async (store, i) => {
          const limiter = rateLimiter({ name: `${i}`, quota: perMinute(5), store })
          return (await limiter.peek('alice')).remaining
        }),
      )
    return { stores, limiters, all, left }
  }

  test.each([0, 1, 2])('the others keep nothing: number %i', async (failing) => {
    const { stores, all, left } = setUp()
    stores[failing]?.break('failing')
    await expect(all()).rejects.toThrow(StoreError)
    expect(await left()).toEqual([5, 5, 5])
  })

  test('one that is late refunds the units it took after all', async () => {
    vi.useFakeTimers()
    const { stores, all, left } = setUp()
    stores[2]?.break('slow')
    const failed = expect(all()).rejects.toMatchObject({ reason: 'timeout' })
    await vi.advanceTimersByTimeAsync(20)
    await failed
    stores[2]?.break('none')
    vi.useRealTimers()
    await stores[2]?.thaw()
    expect(await left()).toEqual([5, 5, 5])
  })

  // What cannot be reported is not: the denial stands, by those who know.
  test('a denial by one before it stands', async () => {
    const { stores, limiters, all } = setUp()
    await limiters[1]?.consume('alice', 5)
    stores[2]?.break('failing')
    const decision = await all()
    expect(decision).toMatchObject({ allowed: false, policy: '1', violated: ['1'], retryAfterMs: 12_000 })
    expect(decision.policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['0', 5],
      ['1', 0],
    ])
  })

  test('one that fails before it is refunded leaves the denial as it is', async () => {
    const { stores, limiters } = setUp()
    const [first, second] = limiters as [RateLimiter, RateLimiter]
    await second.consume('alice', 5)
    // The second is asked when the first has answered.
    const { take } = stores[1] as Store
    Object.assign(stores[1] as Store, {
      take: (ops: readonly Take[]) => {
        stores[0]?.break('failing')
        return take(ops)
      },
    })
    const decision = await consumeAll([
      [first, 'alice'],
      [second, 'alice'],
    ])
    expect(decision).toMatchObject({ allowed: false, policy: '1', retryAfterMs: 12_000 })
    expect(decision.policies).toBeUndefined()
  })
})
