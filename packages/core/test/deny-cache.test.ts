import { fakeClock, faultyStore, histories, modelStore, momentsOf, START, testStore } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type DenyCacheOptions,
  fixedWindow,
  penalty,
  perMinute,
  perSecond,
  type Quota,
  QuotaError,
  type RateLimiter,
  rateLimiter,
  type Store,
  slidingLog,
  slidingWindow,
  type Take,
  tokenBucket,
  warmingUp,
  withDenyCache,
} from '../src/index.ts'
import { stepFor, type Verb } from '../src/internal/index.ts'

/** A store that counts its calls, behind a cache, with one clock for both. */
function setUp(quota: Quota = perMinute(10), options = {}) {
  const clock = fakeClock()
  const behind = faultyStore(modelStore(clock))
  const store = withDenyCache(behind, { stopwatch: () => clock() / 1000, ...options })
  return { clock, behind, store, limiter: rateLimiter({ quota, store, name: 'p' }) }
}

testStore(test, () => withDenyCache(faultyStore(modelStore(() => START)), { for: '1h' }))

test('answers as the store behind it would, whatever the history', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const model = modelStore(() => START)
      const store = withDenyCache(faultyStore(modelStore(() => START)), { for: '1h' })
      const moments = momentsOf(history)
      for (const [i, { ops }] of history.entries()) {
        expect(await store.take(ops, moments[i])).toEqual(model.takeSync(ops, moments[i]))
      }
    }),
    { numRuns: 2_000 },
  )
})

// Each pair differs in one number, which decides what the state of the other denies.
test.each<readonly [what: string, first: Quota, then: Quota]>([
  [
    'the refill',
    tokenBucket({ limit: 4, per: '4s', refill: '4s' }),
    tokenBucket({ limit: 4, per: '8s', refill: '8s', burst: 4 }),
  ],
  [
    'the units of a refill',
    tokenBucket({ limit: 4, per: '4s', refill: '4s' }),
    tokenBucket({ limit: 2, per: '4s', refill: '4s', burst: 4 }),
  ],
  [
    'the start of a window',
    fixedWindow({ limit: 4, window: '4s' }),
    fixedWindow({ limit: 4, window: '4s', offset: '1s' }),
  ],
  ['a refill at intervals', perSecond(4), tokenBucket({ limit: 4, per: '1s', refill: '1s' })],
  ['the length of a window', slidingWindow({ limit: 4, window: '4s' }), slidingWindow({ limit: 4, window: '5s' })],
  [
    'a window that fades',
    slidingWindow({ limit: 4, window: '4s' }),
    fixedWindow({ limit: 4, window: '4s', align: 'first' }),
  ],
  ['the units of a log', slidingLog({ limit: 4, window: '4s' }), slidingLog({ limit: 2, window: '4s' })],
  ['the length of a log', slidingLog({ limit: 4, window: '4s' }), slidingLog({ limit: 4, window: '2s' })],
  [
    'how long a key warms up',
    warmingUp({ limit: 4, per: '1s', warmUpPeriod: '2s' }),
    warmingUp({ limit: 4, per: '1s', warmUpPeriod: '6s' }),
  ],
  [
    'the rate of a key that warms up',
    warmingUp({ limit: 4, per: '1s', warmUpPeriod: '2s' }),
    warmingUp({ limit: 3, per: '1s', warmUpPeriod: '2s' }),
  ],
  [
    'the time in which misses count',
    penalty({ after: 4, within: '2s', block: '1s' }),
    penalty({ after: 4, within: '4s', block: '1s' }),
  ],
  [
    'how long blocks are remembered',
    penalty({ after: 4, within: '2s', block: '1s', grow: 2, max: '9s', forgive: '1s' }),
    penalty({ after: 4, within: '2s', block: '1s', grow: 2, max: '9s', forgive: '5s' }),
  ],
  ['the algorithm', slidingLog({ limit: 4, window: '4s' }), slidingWindow({ limit: 4, window: '4s' })],
])('answers as the store behind it would while a deploy changes %s', async (_, first, then) => {
  const call = fc.record({
    quota: fc.constantFrom(first, then),
    verb: fc.constantFrom<Verb>('consume', 'consume', 'consume', 'charge', 'refund'),
    cost: fc.constantFrom(1, 1, 1, 2, 3, 6),
    afterMs: fc.constantFrom(0, 0, 250, 500, 1_000, 2_000),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 6, maxLength: 16 }), async (calls) => {
      const model = modelStore(() => START)
      const store = withDenyCache(faultyStore(modelStore(() => START)), { for: '1h' })
      let now = START
      for (const { quota, verb, cost, afterMs } of calls) {
        now += afterMs * 1_000
        const ops = [{ policy: 'p', key: 'a', step: stepFor(quota, verb, cost) }]
        expect(await store.take(ops, now)).toEqual(model.takeSync(ops, now))
      }
    }),
    { numRuns: 1_000 },
  )
})

// What the property above the last has found.
test.each<[string, readonly (readonly [atMicros: number, verb: Verb, cost: number])[], Quota]>([
  [
    'a look while the clock is back shows what is not kept',
    [
      [0, 'consume', 6],
      [-1, 'peek', 4],
      [0, 'consume', 4],
    ],
    tokenBucket({ limit: 3, per: '1s', refill: '1s', burst: 6 }),
  ],
  [
    'when a window with nothing in it ends, the next one starts with the next request',
    [
      [0, 'consume', 1],
      [1_418_941, 'consume', 2],
      [2_000_001, 'consume', 2],
    ],
    slidingWindow({ limit: 1, window: '1s' }),
  ],
  [
    'a denial that finds no state leaves none',
    [
      [0, 'consume', 9],
      [1, 'consume', 9],
    ],
    slidingWindow({ limit: 1, window: '1s' }),
  ],
])('%s', async (_, calls, quota) => {
  const model = modelStore(() => START)
  const store = withDenyCache(faultyStore(modelStore(() => START)), { for: '1h' })
  for (const [after, verb, cost] of calls) {
    const ops = [{ policy: 'p', key: 'a', step: stepFor(quota, verb, cost) }]
    expect(await store.take(ops, START + after)).toEqual(model.takeSync(ops, START + after))
  }
})

describe('a key that is denied', () => {
  test.each([
    ['token bucket', 1, perMinute(10)],
    ['interval refill', 1, tokenBucket({ limit: 10, per: '1m', refill: '1m' })],
    ['sliding log', 1, slidingLog({ limit: 10, window: '1m' })],
    ['penalty', 1, penalty({ after: 10, within: '1m', block: '1m' })],
    // And one when the next window starts.
    ['sliding window', 2, slidingWindow({ limit: 10, window: '1m' })],
  ])('under a %s costs the store %i calls until its wait is over', async (_, most, quota) => {
    const { clock, behind, limiter } = setUp(quota, { for: '1h' })
    await limiter.consume('a', 10)
    const calls = behind.calls
    const first = await limiter.consume('a')
    for (let ms = 100; ms < first.retryAfterMs; ms += 100) {
      clock.advance(100)
      const { allowed, remaining, retryAfterMs, resetAfterMs } = await limiter.consume('a')
      expect([allowed, remaining]).toEqual([false, 0])
      expect(retryAfterMs + ms).toBeCloseTo(first.retryAfterMs, 6)
      expect(resetAfterMs + ms).toBeCloseTo(first.resetAfterMs, 6)
    }
    expect(behind.calls - calls).toBe(most)
    clock.advance(100)
    clock.advanceMicros(1)
    expect((await limiter.consume('a')).allowed).toBe(true)
  })

  test('under a warm-up costs the store one call until its turn', async () => {
    const { clock, behind, limiter } = setUp(warmingUp({ limit: 1, per: '10s', warmUpPeriod: '1m' }), { for: '1h' })
    await limiter.consume('a')
    const calls = behind.calls
    const { retryAfterMs } = await limiter.consume('a')
    clock.advance(Math.floor(retryAfterMs) - 1)
    expect((await limiter.consume('a')).allowed).toBe(false)
    expect(behind.calls).toBe(calls + 1)
    clock.advance(2)
    expect((await limiter.consume('a')).allowed).toBe(true)
  })

  test('is not cached if it is long, so that such keys cannot fill the memory', async () => {
    const { behind, limiter } = setUp()
    const callsOf = async (key: string): Promise<number> => {
      await limiter.consume(key, 10)
      await limiter.consume(key)
      const before = behind.calls
      expect((await limiter.consume(key)).allowed).toBe(false)
      return behind.calls - before
    }
    expect([await callsOf('a'.repeat(511)), await callsOf('a'.repeat(512))]).toEqual([0, 1])
  })

  test('may still take what fits', async () => {
    const { limiter } = setUp()
    await limiter.consume('a', 8)
    expect((await limiter.consume('a', 5)).allowed).toBe(false)
    expect(await limiter.consume('a', 2)).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('is allowed at once when units are refunded, or it is reset', async () => {
    const { limiter } = setUp()
    await limiter.consume('a', 10)
    await limiter.consume('a')
    await limiter.refund('a', 3)
    expect(await limiter.consume('a', 3)).toMatchObject({ allowed: true })
    await limiter.consume('a')
    await limiter.reset('a')
    expect(await limiter.consume('a', 10)).toMatchObject({ allowed: true })
  })

  test('is asked about again after a second, for another process may have given units back', async () => {
    const { clock, behind, limiter } = setUp(slidingLog({ limit: 1, window: '1h' }))
    await limiter.consume('a')
    await limiter.consume('a')
    const calls = behind.calls
    clock.advance(1_000)
    await limiter.consume('a')
    expect(behind.calls).toBe(calls)
    clock.advance(1)
    await limiter.consume('a')
    expect(behind.calls).toBe(calls + 1)
  })

  test('is allowed as soon as its units are back, even if the denial arrived late', async () => {
    const clock = fakeClock()
    const store = modelStore(clock)
    const late: Store = {
      ...faultyStore(store),
      async take(ops, at) {
        const taken = store.takeSync(ops, at)
        clock.advance(700)
        return taken
      },
    }
    const limiter = rateLimiter({
      quota: perSecond(1),
      store: withDenyCache(late, { stopwatch: () => clock() / 1000 }),
      logger: { warn: () => {} },
    })
    const answers = [await limiter.consume('a'), await limiter.consume('a'), await limiter.consume('a')]
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, false, true])
  })

  // The answer of a call that the store has made before the refund or the reset comes after it.
  test.each<[what: string, undo: (limiter: RateLimiter) => Promise<unknown>]>([
    ['a refund', (limiter) => limiter.refund('a', 10)],
    ['a reset', (limiter) => limiter.reset('a')],
  ])('is allowed after %s, whatever an older answer says', async (_, undo) => {
    const model = modelStore(() => START)
    let arrive = (): void => {}
    const late = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const limiter = rateLimiter({
      quota: perMinute(10),
      store: withDenyCache({
        async take(ops) {
          const taken = model.takeSync(ops)
          if (!taken[0]?.allowed) await late
          return taken
        },
        delete: (keys) => model.delete(keys),
      }),
    })
    await limiter.consume('a', 10)
    const denied = limiter.consume('a')
    await undo(limiter)
    arrive()
    expect((await denied).allowed).toBe(false)
    expect((await limiter.consume('a')).allowed).toBe(true)
  })

  test('is evicted when many others are denied', async () => {
    const { behind, limiter } = setUp(perMinute(1), { maxKeys: 2 })
    for (const key of ['a', 'b', 'c', 'a', 'b', 'c']) await limiter.consume(key)
    const calls = behind.calls
    await limiter.consume('b')
    await limiter.consume('c')
    expect(behind.calls).toBe(calls)
    await limiter.consume('a')
    expect(behind.calls).toBe(calls + 1)
  })
})

describe('wrappers of one scope', () => {
  const setUpTwo = (options: readonly [DenyCacheOptions, DenyCacheOptions]) => {
    const clock = fakeClock()
    const behind = faultyStore(modelStore(clock))
    const [one, two] = options.map((each) =>
      rateLimiter({
        quota: perMinute(10),
        name: 'p',
        store: withDenyCache(behind, { ...each, for: each.for ?? '1h' }),
      }),
    ) as [RateLimiter, RateLimiter]
    return { behind, one, two }
  }

  // Two stores of one process had caches of their own: a key that one had reset was denied by the other for a second.
  test.each([{}, { for: false as const }])('allow at once what another has reset or refunded: %j', async (other) => {
    const scope = {}
    const { one, two } = setUpTwo([{ scope }, { scope, ...other }])
    await one.consume('a', 10)
    expect((await one.consume('a')).allowed).toBe(false)
    await two.reset('a')
    expect((await one.consume('a', 10)).allowed).toBe(true)
    expect((await one.consume('a')).allowed).toBe(false)
    await two.refund('a')
    expect((await one.consume('a')).allowed).toBe(true)
  })

  test('deny what another was denied, without a call', async () => {
    const scope = {}
    const { behind, one, two } = setUpTwo([{ scope }, { scope }])
    await one.consume('a', 10)
    await one.consume('a')
    const { calls } = behind
    expect((await two.consume('a')).allowed).toBe(false)
    expect(behind.calls).toBe(calls)
  })

  test('ask each time where the cache is off', async () => {
    const { behind, one } = setUpTwo([{ for: false }, {}])
    await one.consume('a', 10)
    for (let i = 0; i < 3; i++) expect((await one.consume('a')).allowed).toBe(false)
    expect(behind.calls).toBe(4)
  })

  test('of another scope know nothing of each other', async () => {
    const { behind, one, two } = setUpTwo([{}, {}])
    await one.consume('a', 10)
    await one.consume('a')
    const { calls } = behind
    await two.consume('a')
    expect(behind.calls).toBe(calls + 1)
  })
})

test('a batch is denied by the cache if all of its states are cached', async () => {
  const clock = fakeClock()
  const behind = faultyStore(modelStore(clock))
  const store = withDenyCache(behind, { stopwatch: () => clock() / 1000 })
  const quotas = { burst: perMinute(2), daily: perMinute(100) }
  const limiter = rateLimiter({ quotas, store })
  for (let i = 0; i < 3; i++) await limiter.consume('a')
  const calls = behind.calls
  const decision = await limiter.consume('a')
  expect(decision).toMatchObject({ allowed: false, violated: ['burst'] })
  expect(decision.policies?.map(({ remaining }) => remaining)).toEqual([0, 98])
  expect(behind.calls).toBe(calls)
})

test.each([{ maxKeys: 0 }, { maxKeys: 1.5 }, { for: 0 }, { ttl: 1 }])('rejects %j', (options) => {
  expect(() =>
    withDenyCache(
      modelStore(() => START),
      options as never,
    ),
  ).toThrow(QuotaError)
})

// Found by the suite of stores, as a denial that Redis did not make: a refund of another key is in the same call.
test('forgets a denial if another quota has denied the key since, in a call with a refund', async () => {
  const store = withDenyCache(faultyStore(modelStore(() => START)), { stopwatch: () => 0 })
  const op = (key: string, quota: Quota, verb: Verb, cost = 1): Take => ({
    policy: 'p',
    key,
    step: stepFor(quota, verb, cost),
  })
  const long = perMinute(5)
  const short = tokenBucket({ limit: 4, per: '1s', refill: '1s' })
  await store.take([op('ann', long, 'consume', 5)])
  const batches = [[op('ann', long, 'consume')], [op('bob', long, 'refund')], [op('ann', short, 'consume')]]
  const answers = await store.takeEach?.(batches)
  expect(answers?.map(([answer]) => answer?.allowed)).toEqual([false, true, false])
  // The shorter quota forgets what the longer one has counted.
  expect((await store.take([op('ann', long, 'consume')]))[0]?.allowed).toBe(true)
})
