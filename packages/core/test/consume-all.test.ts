import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  consumeAll,
  perHour,
  perMinute,
  perSecond,
  type RateLimiter,
  rateLimiter,
  slidingLog,
  slidingWindow,
} from '../src/index.ts'
import { internals, type LimiterInternals } from '../src/limiter/internals.ts'

const setUp = () => {
  const clock = fakeClock()
  const store = modelStore(clock)
  const user = rateLimiter({ quota: perMinute(10), store, name: 'user' })
  const tenant = rateLimiter({ quota: slidingWindow({ limit: 20, window: '1m' }), store, name: 'tenant' })
  const model = rateLimiter({ quota: slidingLog({ limit: 30, window: '1h' }), store, name: 'model' })
  const left = async () =>
    Promise.all(
      [user.peek('alice'), tenant.peek('acme'), model.peek('large')].map(async (peeked) => (await peeked).remaining),
    )
  return { clock, user, tenant, model, left }
}

describe('consumeAll', () => {
  test('takes from three limiters of three algorithms, and says who speaks', async () => {
    const { user, tenant, model, left } = setUp()
    const decision = await consumeAll([
      [user, 'alice'],
      [tenant, 'acme', 4],
      [model, 'large', 28],
    ])
    expect(decision).toMatchObject({ allowed: true, policy: 'model', remaining: 2, violated: [], cost: 28 })
    expect(decision.policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['user', 9],
      ['tenant', 16],
      ['model', 2],
    ])
    expect(await left()).toEqual([9, 16, 2])
  })

  // I12, and rows 10 and 11 of the peers' bugs: what one denies, another has charged.
  test('consumes from none if one denies, and reports the longest wait of those that do', async () => {
    const { user, tenant, model, left } = setUp()
    await consumeAll([
      [user, 'alice', 10],
      [model, 'large', 30],
    ])
    const decision = await consumeAll([
      [user, 'alice'],
      [tenant, 'acme'],
      [model, 'large'],
    ])
    expect(decision).toMatchObject({ allowed: false, policy: 'model', violated: ['user', 'model'] })
    expect([decision.retryAfterMs, decision.delayMs]).toEqual([3_600_000, 0])
    expect(await left()).toEqual([0, 20, 0])
  })

  test('is all or none, whatever is asked', async () => {
    const costs = fc.array(fc.tuple(...[0, 1, 2].map(() => fc.integer({ min: 1, max: 12 }))), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(costs, async (history) => {
        const { user, tenant, model, left } = setUp()
        for (const [a, b, c] of history as [number, number, number][]) {
          const before = await left()
          const { allowed } = await consumeAll([
            [user, 'alice', a],
            [tenant, 'acme', b],
            [model, 'large', c],
          ])
          const fits = [a, b, c].every((cost, i) => cost <= (before[i] as number))
          expect(allowed).toBe(fits)
          expect(await left()).toEqual(before.map((units, i) => units - (fits ? ([a, b, c][i] as number) : 0)))
        }
      }),
    )
  })

  test('takes several keys of one limiter', async () => {
    const { user } = setUp()
    await consumeAll([
      [user, 'alice', 3],
      [user, 'bob', 4],
    ])
    const left = await Promise.all(['alice', 'bob'].map(async (key) => (await user.peek(key)).remaining))
    expect(left).toEqual([7, 6])
  })

  test('takes limiters of several quotas', async () => {
    const store = modelStore(fakeClock())
    const both = rateLimiter({ quotas: { second: perSecond(2), hour: perHour(9) }, store, name: 'both' })
    const one = rateLimiter({ quota: perMinute(5), store, name: 'one' })
    const { policies } = await consumeAll([
      [both, 'alice', 2],
      [one, 'alice'],
    ])
    expect(policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['both.second', 0],
      ['both.hour', 7],
      ['one', 4],
    ])
  })

  test.each([
    [
      'nothing',
      () => [],
      'consumeAll consumes from 1 to 1000 quotas: consumeAll([[limiter, key]]); got 0 in 0 triples.',
    ],
    ['no limiter', () => [[{}, 'alice']], 'got an object for a limiter'],
    ['no key', (user: unknown) => [[user, '']], 'key must be a non-empty string'],
    ['a cost of none', (user: unknown) => [[user, 'alice', 0]], 'cost must be a whole number'],
    [
      'a key twice',
      (user: unknown) => [
        [user, 'alice', 3],
        [user, 'bob'],
        [user, 'alice', 4],
      ],
      'names key "alice" of "user" twice. Add up the costs, or',
    ],
  ])('rejects %s, and takes nothing', async (_, takes, message) => {
    const { user, left } = setUp()
    await expect(consumeAll(takes(user) as never)).rejects.toThrow(message)
    expect(await left()).toEqual([10, 20, 30])
  })
})

describe('consumeAll of many keys', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, i) => `user-${i}`)

  // Reproduces a bug: each triple was compared with all before it, and 4,000 keys blocked the event loop for 3 s.
  test('reads each key a few times only, also to settle it', async () => {
    const { user } = setUp()
    const own = internals().get(user) as LimiterInternals
    let reads = 0
    const checksOf: LimiterInternals['checksOf'] = (...args) =>
      own.checksOf(...args).map(({ key, ...check }) => ({
        ...check,
        get key() {
          reads++
          return key
        },
      }))
    internals().set(user, { ...own, checksOf })
    const { allowed, commit } = await consumeAll(keys(1_000).map((key) => [user, key, 5] as const))
    await commit(keys(1_000).map((_, i) => i % 10))
    expect([allowed, reads < 20_000]).toEqual([true, true])
    internals().set(user, own)
    const left = await Promise.all(
      ['user-0', 'user-7', 'user-999'].map(async (key) => (await user.peek(key)).remaining),
    )
    expect(left).toEqual([10, 3, 1])
  })

  // Reproduces bugs: on Redis, 8,000 keys failed with 'too many results to unpack', and so did 1,000 of eight quotas.
  test.each([
    [1_001, 1, '1001'],
    [126, 8, '1008'],
  ])('rejects %i triples of %i quotas, and takes nothing', async (count, each, got) => {
    const quotas = Object.fromEntries(Array.from({ length: each }, (_, i) => [`q${i}`, perMinute(10)]))
    const user = rateLimiter({ quotas, store: modelStore(fakeClock()) })
    await expect(consumeAll(keys(count).map((key) => [user, key] as const))).rejects.toThrow(
      `got ${got} in ${count} triples. Split a longer list, and if a call is denied, cancel() those before it.`,
    )
    expect((await user.peek('user-0')).remaining).toBe(10)
    expect((await consumeAll(keys(125).map((key) => [user, key] as const))).allowed).toBe(true)
  })

  // Names of policies have no line breaks: keys may.
  test('tells apart keys that contain the name of a policy', async () => {
    const { user, tenant } = setUp()
    const takes = [
      [user, 'a\ntenant\nb', 2],
      [tenant, 'b', 3],
      [user, 'a', 4],
      [tenant, 'tenant\nb', 5],
    ] as const
    const { commit } = await consumeAll(takes)
    await commit([1, 2, 3, 4])
    const left = await Promise.all(takes.map(async ([limiter, key]) => (await limiter.peek(key)).remaining))
    expect(left).toEqual([9, 18, 7, 16])
  })

  test('takes one key of limiters that have one name and several stores', async () => {
    const limiters = [0, 1].map(() =>
      rateLimiter({ quota: perMinute(10), store: modelStore(fakeClock()), name: 'user' }),
    )
    const { commit } = await consumeAll(limiters.map((limiter) => [limiter, 'alice', 5] as const))
    await commit([1, 7])
    const left = await Promise.all(limiters.map(async (limiter) => (await limiter.peek('alice')).remaining))
    expect(left).toEqual([9, 3])
  })

  test('corrects a quota that another has spilled over to', async () => {
    const store = modelStore(fakeClock())
    const quotas = { second: perHour(1), minute: perHour(2), reserve: perHour(10) }
    const api = rateLimiter({ name: 'api', quotas, spill: { second: 'minute', minute: 'reserve' }, store })
    const reserve = rateLimiter({ name: 'api.reserve', quota: perHour(10), store })
    const { commit } = await consumeAll([
      [api, 'a', 3],
      [api, 'b', 4],
    ])
    await commit([undefined, 1])
    const left = await Promise.all(['a', 'b'].map(async (key) => (await reserve.peek(key)).remaining))
    expect(left).toEqual([7, 9])
  })
})

describe('consumeAll, settled,', () => {
  test('corrects each limiter by its place, and keeps the cost where there is no correction', async () => {
    const { user, tenant, model, left } = setUp()
    const { allowed, commit } = await consumeAll([
      [user, 'alice', 5],
      [tenant, 'acme', 4],
      [model, 'large', 20],
    ])
    expect(allowed).toBe(true)
    await commit([undefined, 1, 25])
    await commit([0, 0, 0])
    expect(await left()).toEqual([5, 19, 5])
  })

  test('cancels all, and keeps all if it is committed as it is', async () => {
    const { user, tenant, left } = setUp()
    const takes = [
      [user, 'alice', 5],
      [tenant, 'acme', 4],
    ] as const
    await (await consumeAll(takes)).commit()
    await (await consumeAll(takes)).cancel()
    expect(await left()).toEqual([5, 16, 30])
  })

  test('corrects several keys of one limiter, and policies by name', async () => {
    const store = modelStore(fakeClock())
    const limiter = rateLimiter({ quotas: { requests: perMinute(10), tokens: perHour(1_000) }, store })
    const { commit } = await consumeAll([
      [limiter, 'alice', { tokens: 100 }],
      [limiter, 'acme', { tokens: 300 }],
    ])
    await commit([{ tokens: 40 }, { requests: 0 }])
    const remaining = async (key: string) => (await limiter.peek(key)).policies?.map(({ remaining }) => remaining)
    expect([await remaining('alice'), await remaining('acme')]).toEqual([
      [9, 960],
      [10, 700],
    ])
  })

  // The actual costs of the second were taken for those of the first.
  test('corrects policies of one limiter and key that are named apart', async () => {
    const store = modelStore(fakeClock())
    const limiter = rateLimiter({ quotas: { x: perMinute(100), y: perMinute(100) }, store })
    const both = await consumeAll([
      [limiter, 'a', { x: 10, y: 0 }],
      [limiter, 'a', { x: 0, y: 20 }],
    ])
    await both.commit([undefined, 2])
    const { policies = [] } = await limiter.peek('a')
    expect(policies.map(({ remaining }) => remaining)).toEqual([90, 98])
  })

  // Of a bucket of 10, 20 units were admitted.
  test('rejects a limiter that another one spills over to', async () => {
    const store = modelStore(fakeClock())
    const quotas = { second: perHour(1), reserve: perHour(10) }
    const spilling = rateLimiter({ name: 'api', quotas, spill: { second: 'reserve' }, store })
    const reserve = rateLimiter({ name: 'api.reserve', quota: perHour(10), store })
    const both = consumeAll([
      [spilling, 'a'],
      [reserve, 'a'],
    ])
    await expect(both).rejects.toThrow(
      'names key "a" of "api.reserve" twice. Add up the costs, or leave out the limiter that',
    )
    expect((await reserve.peek('a')).remaining).toBe(10)
  })

  test('has nothing to settle if it is denied', async () => {
    const { user, tenant, left } = setUp()
    const { allowed, commit, cancel } = await consumeAll([
      [user, 'alice', 5],
      [tenant, 'acme', 21],
    ])
    await commit([1, 1])
    await cancel()
    expect([allowed, await left()]).toEqual([false, [10, 20, 30]])
  })

  test.each<[never, string]>([
    [5 as never, 'takes a list of 2 actual costs'],
    [[1] as never, 'got a list of 1.'],
    [[1, -1] as never, 'what it really cost must be a whole number of units, 0 or more; got -1.'],
    [[1, { tenants: 1 }] as never, 'Did you mean "tenant"?'],
  ])('rejects %j, and can still be settled', async (actual, message) => {
    const { user, tenant, left } = setUp()
    const { commit } = await consumeAll([
      [user, 'alice', 5],
      [tenant, 'acme', 4],
    ])
    await expect(commit(actual)).rejects.toThrow(message)
    await commit([2, 2])
    expect(await left()).toEqual([8, 18, 30])
  })
})

// The units that stores take late, after they have not answered in time.
describe('consumeAll on several stores that answer late, settled,', () => {
  const late = async (onStoreError: 'allow' | 'local' | RateLimiter) => {
    const clock = fakeClock()
    const [near, far] = [modelStore(clock), faultyStore(modelStore(clock))]
    const user = rateLimiter({ name: 'user', quota: perMinute(10), store: near })
    const model = rateLimiter({ name: 'model', quota: perHour(100), store: far, deadline: 5, onStoreError })
    far.break('slow')
    const reservation = await consumeAll([
      [user, 'alice', 5],
      [model, 'large', 40],
    ])
    expect(reservation.degraded?.reason).toBe('timeout')
    const left = async () => {
      far.break('none')
      await far.thaw()
      await far.thaw()
      // What it took is reported by the store itself: the circuit is open.
      const asked = rateLimiter({ name: 'model', quota: perHour(100), store: { ...far }, onStoreError: 'throw' })
      return [(await user.peek('alice')).remaining, (await asked.peek('large')).remaining]
    }
    return { reservation, far, left }
  }

  test('keeps what it was allowed without the store, and corrects it', async () => {
    const kept = await late('allow')
    await kept.reservation.commit()
    expect(await kept.left()).toEqual([5, 60])
    const corrected = await late('allow')
    await corrected.reservation.commit([undefined, 12])
    expect(await corrected.left()).toEqual([5, 88])
    const cancelled = await late('allow')
    await cancelled.reservation.cancel()
    expect(await cancelled.left()).toEqual([10, 100])
  })

  test('refunds what this process or a limiter has counted instead', async () => {
    const local = await late('local')
    await local.reservation.commit([undefined, 12])
    expect(await local.left()).toEqual([5, 100])
    const fallback = rateLimiter({ quota: perHour(100), store: modelStore(fakeClock()) })
    const asked = await late(fallback)
    expect((await fallback.peek('large')).remaining).toBe(60)
    await asked.reservation.commit([undefined, 12])
    expect([await asked.left(), (await fallback.peek('large')).remaining]).toEqual([[5, 100], 88])
    const more = await late(fallback)
    await more.reservation.commit([undefined, 50])
    expect((await fallback.peek('large')).remaining).toBe(38)
  })

  test('refunds what one takes late, after another has denied', async () => {
    const clock = fakeClock()
    const [far, other] = [faultyStore(modelStore(clock)), faultyStore(modelStore(clock))]
    const quota = perHour(100)
    const model = rateLimiter({ name: 'model', quota, store: far, deadline: 5, onStoreError: 'allow' })
    const user = rateLimiter({ name: 'user', quota: perMinute(1), store: other, deadline: '10s' })
    await user.consume('alice')
    far.break('slow')
    const reservation = await consumeAll([
      [model, 'large', 40],
      [user, 'alice'],
    ])
    expect(reservation.allowed).toBe(false)
    far.break('none')
    await far.thaw()
    await far.thaw()
    const asked = rateLimiter({ name: 'model', quota, store: { ...far }, onStoreError: 'throw' })
    expect((await asked.peek('large')).remaining).toBe(100)
  })
})
