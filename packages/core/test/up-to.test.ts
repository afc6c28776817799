import { fakeClock, faultyStore, modelStore, START } from '@spillway/conformance'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import {
  leakyBucket,
  perHour,
  perMinute,
  perSecond,
  QuotaError,
  rateLimiter,
  type Store,
  StoreError,
  type StoreErrorOption,
  slidingWindow,
  storeHealth,
  withDenyCache,
  withHashedKeys,
  withLeases,
} from '../src/index.ts'
import { sizesUpTo } from '../src/internal.ts'

afterEach(() => void vi.useRealTimers())

const quiet = { logger: { warn() {} } }

test('sizes taken wherever they fit reach every number of units, by few sizes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), fc.nat(10_000), (units, fit) => {
      const sizes = sizesUpTo(units)
      let left = Math.min(fit, units)
      for (const size of sizes) if (size <= left) left -= size
      expect(left).toBe(0)
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(units)
      expect([sizes.at(-1), sizes.length <= Math.log2(units) + 2]).toEqual([1, true])
    }),
  )
})

test('consumes what there is, and is denied with the wait for one unit if that is nothing', async () => {
  const clock = fakeClock()
  const limiter = rateLimiter({ quota: perMinute(10), store: modelStore(clock) })
  expect(await limiter.consumeUpTo('a', 7)).toMatchObject({ allowed: true, consumed: 7, cost: 7, remaining: 3 })
  expect(await limiter.consumeUpTo('a', 7)).toMatchObject({ allowed: true, consumed: 3, cost: 7, remaining: 0 })
  const denied = await limiter.consumeUpTo('a', 7)
  expect(denied).toMatchObject({ allowed: false, consumed: 0, cost: 7, retryAfterMs: 6_000, violated: ['default'] })
  clock.advance(12_000)
  expect(await limiter.consumeUpTo('a', Number.MAX_SAFE_INTEGER)).toMatchObject({ consumed: 2 })
})

test('answers as one consume of as many units would', async () => {
  const queue = leakyBucket({ limit: 1, per: '1s', queue: 9 })
  for (const quota of [perMinute(10), perSecond(9_999), slidingWindow({ limit: 10, window: '1m' }), queue]) {
    const [one, other] = [0, 1].map(() => rateLimiter({ quota, store: modelStore(() => START) }))
    for (const cost of [3, 4]) {
      const { consumed, ...decision } = (await one?.consumeUpTo('a', cost)) ?? {}
      expect(decision).toEqual(await other?.consume('a', cost))
    }
  }
})

test('of several quotas, the one with the fewest units decides', async () => {
  const limiter = rateLimiter({ quotas: { s: perSecond(5), h: perHour(100) }, store: modelStore(() => START) })
  expect(await limiter.consumeUpTo('a', 50)).toMatchObject({ consumed: 5, policy: 's', remaining: 0 })
  const { policies, ...denied } = await limiter.consumeUpTo('a', 50)
  expect(denied).toMatchObject({ allowed: false, consumed: 0, violated: ['s'], retryAfterMs: 200 })
  expect(policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
    ['s', 0],
    ['h', 95],
  ])
})

test('what was consumed can be refunded', async () => {
  const limiter = rateLimiter({ quota: perMinute(10), store: modelStore(() => START) })
  await limiter.consume('a', 4)
  const { consumed } = await limiter.consumeUpTo('a', 100)
  expect((await limiter.refund('a', consumed)).remaining).toBe(6)
})

test('of quotas in several parts, what one has consumed beyond another goes back', async () => {
  for (const first of ['a', 'b']) {
    const store: Store = { ...modelStore(() => START), slotOf: ({ policy }) => policy }
    const quotas = { [first]: perSecond(5), c: perHour(100), last: perMinute(5) }
    await rateLimiter({ name: 'last', quota: perMinute(5), store }).consume('k', 2)
    const limiter = rateLimiter({ quotas, store })
    const left = async () => (await limiter.peek('k')).policies?.map(({ remaining }) => remaining)
    const decision = await limiter.consumeUpTo('k', 50)
    expect(decision).toMatchObject({ allowed: true, consumed: 3, remaining: 0 })
    expect(decision.policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual(
      Object.keys(quotas).map((name, i) => [name, [2, 97, 0][i]]),
    )
    expect(await left()).toEqual([2, 97, 0])
    expect(await limiter.consumeUpTo('k', 50)).toMatchObject({ allowed: false, consumed: 0 })
    expect(await left()).toEqual([2, 97, 0])
  }
})

test.each<[string, (store: Store) => Store]>([
  ['a deny cache', (store) => withDenyCache(store, { stopwatch: () => 0 })],
  ['leases', (store) => withLeases(store, { requests: 10, stopwatch: () => 0 })],
  ['hashed keys', (store) => withHashedKeys(store, (key) => `#${key}`)],
])('consumes neither more nor less behind %s', async (_, before) => {
  const behind = faultyStore(modelStore(() => START))
  const limiter = rateLimiter({ quota: perSecond(100), store: before(behind), deadline: '10s' })
  for (let i = 0; i < 33; i++) await limiter.consume('a')
  expect((await limiter.consumeUpTo('a', 50)).consumed).toBe(50)
  expect((await limiter.consumeUpTo('a', 50)).consumed).toBe(17)
  expect((await limiter.consumeUpTo('a', 50)).consumed).toBe(0)
  await limiter.refund('a', 3)
  expect((await limiter.consumeUpTo('a', 50)).consumed).toBe(3)
  expect((await limiter.consume('a')).allowed).toBe(false)
})

test('a deny cache answers for a key that has not one unit', async () => {
  const behind = faultyStore(modelStore(() => START))
  const limiter = rateLimiter({
    quota: perMinute(10),
    store: withDenyCache(behind, { stopwatch: () => 0 }),
    deadline: '10s',
  })
  await limiter.consumeUpTo('a', 10)
  await limiter.consumeUpTo('a', 10)
  const { calls } = behind
  expect(await limiter.consumeUpTo('a', 10)).toMatchObject({ consumed: 0, retryAfterMs: 6_000 })
  expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 6_000 })
  expect(behind.calls).toBe(calls)
})

test.each<[string, StoreErrorOption, number, boolean]>([
  ['counts in this process', 'local', 4, true],
  ['allows as much as a full quota holds', 'allow', 4, true],
  ['denies', 'deny', 0, false],
  ['asks another limiter for all of it', rateLimiter({ quota: perMinute(6), store: modelStore(() => START) }), 4, true],
])('if the store fails, it %s', async (_, onStoreError, consumed, allowed) => {
  const store = faultyStore(modelStore(() => START))
  const limiter = rateLimiter({ quota: perMinute(4), store, onStoreError, ...quiet })
  store.break('failing')
  const degraded = { reason: 'error', action: typeof onStoreError === 'object' ? 'fallback' : onStoreError }
  expect(await limiter.consumeUpTo('a', 6)).toMatchObject({ allowed, consumed, degraded })
  if (onStoreError === 'local') expect((await limiter.consumeUpTo('a', 6)).consumed).toBe(0)
})

test("if the store fails, it throws with 'throw'", async () => {
  const store = faultyStore(modelStore(() => START))
  const limiter = rateLimiter({ quota: perMinute(4), store, onStoreError: 'throw', ...quiet })
  store.break('failing')
  await expect(limiter.consumeUpTo('a', 6)).rejects.toThrow(StoreError)
})

test('units that the store takes late are refunded', async () => {
  vi.useFakeTimers()
  const model = modelStore(() => START)
  const store = faultyStore(model)
  const limiter = rateLimiter({ quota: perMinute(10), store, deadline: 20, ...quiet })
  store.break('slow')
  const answer = limiter.consumeUpTo('a', 7)
  await vi.advanceTimersByTimeAsync(20)
  expect(await answer).toMatchObject({ consumed: 7, degraded: { reason: 'timeout', action: 'local' } })
  store.break('none')
  vi.useRealTimers()
  await store.thaw()
  expect((await rateLimiter({ quota: perMinute(10), store: model }).peek('a')).remaining).toBe(10)
  expect(storeHealth(store).refundsDropped).toBe(0)
})

test('is rejected for a store without takeEach, and for an invalid number of units', async () => {
  const { take, delete: remove } = modelStore(() => START)
  const limiter = rateLimiter({ quota: perMinute(4), store: { take, delete: remove } })
  await expect(limiter.consumeUpTo('a', 6)).rejects.toThrow(QuotaError)
  await expect(limiter.consumeUpTo('a', 6)).rejects.toThrow('consumeUpTo: this store takes one batch at a time.')
  for (const units of [0, -1, 1.5, Number.NaN, undefined]) {
    await expect(limiter.consumeUpTo('a', units as number)).rejects.toThrow(/cost must be a whole number of units/)
  }
})
