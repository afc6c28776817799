import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type Decision,
  perMinute,
  perSecond,
  type Quota,
  QuotaError,
  rateLimiter,
  type Store,
  sharedQuotaBounds,
  slidingWindow,
  tokenBucket,
  withSharedQuota,
} from '../src/index.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

interface Setting {
  readonly quota: Quota
  readonly processes?: number
  readonly margin?: number
  /** How long a call takes to the store, and its answer back. */
  readonly wayMs?: number
}

/** Processes that share a quota of a store at some distance, in simulated time. */
function setUp({ quota, processes = 1, margin = 0.01, wayMs = 0 }: Setting) {
  const clock = fakeClock()
  const model = faultyStore(modelStore(clock))
  const sent: { due: number; deliver: () => void }[] = []
  let calls = 0
  const after = (micros: number): Promise<void> =>
    new Promise((resolve) => sent.push({ due: clock() + micros, deliver: resolve }))
  const away = async <T>(work: () => Promise<T>): Promise<T> => {
    calls++
    if (wayMs === 0) return work()
    await after(wayMs * 1000)
    const result = await work()
    await after(wayMs * 1000)
    return result
  }
  const remote: Store = {
    take: (ops) => away(() => model.take(ops)),
    takeEach: (batches) => away(() => (model as Required<Store>).takeEach(batches)),
    delete: (keys) => away(() => model.delete(keys)),
  }
  // The clock of each process begins at its own start.
  const stores = Array.from({ length: processes }, (_, i) =>
    withSharedQuota(remote, { margin, stopwatch: () => clock() / 1000 + 137.331 * i }),
  )
  const limiters = stores.map((store) =>
    rateLimiter({ quota, store, name: 'p', deadline: '1h', onStoreError: 'throw' }),
  )
  /** Lets time pass, in steps of a millisecond, or of five. */
  const pass = async (ms: number): Promise<void> => {
    const step = ms % 5 === 0 ? 5 : 1
    for (let i = 0; i < ms; i += step) {
      clock.advance(step)
      for (const each of sent.splice(0)) {
        if (each.due <= clock()) each.deliver()
        else sent.push(each)
      }
      await settled()
    }
  }
  const direct = rateLimiter({ quota, store: model, name: 'p' })
  const [limiter] = limiters as [(typeof limiters)[0]]
  return { clock, model, stores, limiters, limiter, direct, pass, callsOf: () => calls }
}

interface Load extends Setting {
  readonly quota: ReturnType<typeof tokenBucket>
  /** Requests of each process in a millisecond. */
  readonly perMs: number
  readonly ms: number
  readonly cost?: number
  /** Requests of each process at once, after that. */
  readonly burst?: number
}

/** Sends a steady load, and measures it against the quota. */
async function load({ perMs, ms, cost = 1, burst = 0, ...setting }: Load) {
  const { quota, processes = 1 } = setting
  const { limiters, clock, pass, callsOf } = setUp(setting)
  const start = clock()
  const result = { requests: 0, admitted: 0, excess: 0, waited: 0 }
  let full = start
  const admit = (): void => {
    // A bucket of the quota that may go into debt: the debt is what was admitted above the quota in some span.
    full = Math.max(full, clock()) + cost * quota.ticksPerUnit
    result.excess = Math.max(result.excess, (full - clock()) / quota.ticksPerUnit - quota.limit)
    result.admitted += cost
  }
  const owed = limiters.map(() => 0)
  for (let i = 0; i <= ms; i++) {
    for (const [of, limiter] of limiters.entries()) {
      if (i === ms) owed[of] = burst
      else owed[of] = (owed[of] as number) + perMs
      for (; (owed[of] as number) >= 1; owed[of] = (owed[of] as number) - 1) {
        const at = clock()
        result.requests++
        void limiter.consume('a', cost).then(({ allowed }) => {
          if (allowed) admit()
          if (clock() > at && i > ms / 2) result.waited++
        })
      }
    }
    await settled()
    await pass(1)
  }
  const calls = callsOf()
  await pass(1_000)
  const expected = Math.min(quota.limit + (ms * 1000) / quota.ticksPerUnit, processes * perMs * ms * cost)
  return { ...result, expected, calls }
}

const quota = tokenBucket({ limit: 60_000, per: '1m' })

describe('a quota that eight processes share', () => {
  const hot = tokenBucket({ limit: 1_000, per: '1s', burst: 6_000 })

  test('below the limit, all is admitted for a call per share, and no request waits', async () => {
    const { admitted, requests, excess, calls, waited } = await load({
      ...{ quota, processes: 8, perMs: 0.1, ms: 3_000, wayMs: 20 },
    })
    expect({ admitted, excess, waited }).toEqual({ admitted: requests, excess: 0, waited: 0 })
    // At first, each process asks for more and more.
    expect(calls).toBeLessThan(sharedQuotaBounds(quota, { processes: 8 }).callsPerSecond * 3 + 8 * 10)
  })

  test('above the limit, nothing is over it, and little is under it', async () => {
    const { admitted, expected, excess, calls, waited, requests } = await load({
      ...{ quota: hot, processes: 8, perMs: 1, ms: 2_000, wayMs: 5 },
    })
    expect(excess).toBe(0)
    // What is not shared is 1 % of the burst; some more is under way.
    expect(admitted).toBeGreaterThan(expected - 0.03 * hot.limit)
    expect(calls).toBeLessThan(sharedQuotaBounds(hot, { processes: 8 }).callsPerSecond * 2 + 8 * 10)
    expect(waited / requests).toBeLessThan(0.01)
  })

  // What a share leaves in the bucket makes up for the units that others have held while it refilled.
  test('after a time below the limit, a burst admits no more than the bucket has', async () => {
    const { excess, admitted } = await load({
      ...{ quota: hot, processes: 8, margin: 0.2, perMs: 0.1, ms: 2_000, burst: 1_500, wayMs: 1 },
    })
    expect(excess).toBe(0)
    expect(admitted).toBeGreaterThan(0.8 * hot.limit)
  })

  test('all processes get about the same', async () => {
    const { limiters, pass } = setUp({ quota: hot, processes: 8, wayMs: 5, margin: 0.05 })
    const admitted = limiters.map(() => 0)
    for (let i = 0; i < 8_000; i += 2) {
      for (const [of, limiter] of limiters.entries())
        void limiter.consume('a', 10).then(({ allowed }) => {
          if (allowed && i > 2_000) admitted[of] = (admitted[of] as number) + 10
        })
      await pass(2)
    }
    const mean = admitted.reduce((sum, each) => sum + each, 0) / 8
    for (const each of admitted) expect(each / mean).toBeGreaterThan(0.4)
  })
})

test('in no span of time do processes admit more than the quota, at any load and distance', async () => {
  const settings = fc.record({
    quota: fc
      .record({
        limit: fc.integer({ min: 50, max: 5_000 }),
        burst: fc.integer({ min: 50, max: 5_000 }),
      })
      .map(({ limit, burst }) => tokenBucket({ limit, per: '1s', burst }))
      .filter(({ scale }) => scale === 1),
    processes: fc.integer({ min: 1, max: 5 }),
    margin: fc.constantFrom(0.01, 0.05, 0.2, 0.5),
    wayMs: fc.constantFrom(0, 1, 10, 60),
    perMs: fc.constantFrom(0.05, 0.3, 1, 3),
    cost: fc.constantFrom(1, 1, 3),
    burst: fc.constantFrom(0, 50, 500),
    ms: fc.constant(250),
  })
  await fc.assert(
    fc.asyncProperty(settings, async (setting) => {
      const { excess } = await load(setting)
      expect(excess).toBe(0)
    }),
    { numRuns: 12, seed: 24 },
  )
})

describe('the share of one process', () => {
  /** One call in ten milliseconds, until the process has a share. */
  async function sharing(setting: Partial<Setting> = {}) {
    const set = setUp({ quota, ...setting })
    for (let i = 0; i < 200; i++) {
      void set.limiter.consume('a')
      await set.pass(10)
    }
    return set
  }
  const consumeAll = async (limiter: Awaited<ReturnType<typeof sharing>>['limiter']): Promise<Decision> => {
    for (;;) {
      const decision = await limiter.consume('a', 10)
      if (!decision.allowed) return decision
    }
  }

  test('is spent without calls', async () => {
    const { limiter, callsOf } = await sharing()
    const before = callsOf()
    for (let i = 0; i < 200; i++) expect((await limiter.consume('a')).allowed).toBe(true)
    expect(callsOf() - before).toBeLessThan(10)
  })

  test('a denial reports when its process asks again, and a retry by then is allowed', async () => {
    const { limiter, clock, callsOf } = await sharing()
    const { retryAfterMs } = await consumeAll(limiter)
    const before = callsOf()
    // Half a hold at least, and a hold at most.
    expect(retryAfterMs).toBeGreaterThan(0)
    expect(retryAfterMs).toBeLessThanOrEqual(600)
    clock.advance(retryAfterMs - 1)
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect((await limiter.consume('a')).allowed).toBe(true)
    expect(callsOf()).toBeGreaterThanOrEqual(before)
  })

  test('is returned by a peek, a reset and a release, which also end a pause', async () => {
    const { limiter, direct, stores } = await sharing()
    await consumeAll(limiter)
    expect((await limiter.consume('a')).allowed).toBe(false)
    await limiter.reset('a')
    expect((await limiter.consume('a')).allowed).toBe(true)
    expect((await limiter.peek('a')).remaining).toBe(59_999)
    const held = await sharing()
    const { remaining } = await held.direct.peek('a')
    await (held.stores[0] as (typeof stores)[0]).release()
    expect((await held.direct.peek('a')).remaining).toBeGreaterThanOrEqual(remaining)
    expect((await direct.peek('a')).remaining).toBe(59_999)
  })

  test('lasts while the store fails', async () => {
    const { limiter, model, pass } = await sharing({ wayMs: 1 })
    model.break('failing')
    for (let i = 0; i < 3; i++) {
      const decision = limiter.consume('a')
      await pass(5)
      expect((await decision).allowed).toBe(true)
    }
    await pass(2_000)
    const failed = limiter.consume('a')
    failed.catch(() => {})
    await pass(10)
    await expect(failed).rejects.toThrow()
  })
})

test.each([
  ['a small quota', perMinute(100)],
  ['a refill at intervals', tokenBucket({ limit: 60_000, per: '1m', refill: '1s' })],
  ['a sliding window', slidingWindow({ limit: 60_000, window: '1m' })],
])('%s is not shared: each request is a call, with the store’s decision', async (_, quota) => {
  const { limiter, direct, callsOf } = setUp({ quota })
  for (let i = 1; i <= 20; i++) {
    expect((await limiter.consume('a')).remaining).toBe(quota.limit - i)
  }
  expect((await direct.peek('a')).remaining).toBe(quota.limit - 20)
  expect(callsOf()).toBe(20)
  expect(sharedQuotaBounds(quota, { processes: 8 })).toMatchObject({
    held: 0,
    callsPerSecond: Number.POSITIVE_INFINITY,
  })
})

describe('sharedQuotaBounds', () => {
  test('returns what the docs say', () => {
    expect(sharedQuotaBounds(perMinute(60_000), { processes: 1 })).toEqual({
      ...{ holdMs: 600, held: 600, overAdmission: 600, underAdmission: 600, callsPerSecond: 2 / 0.6 },
    })
    expect(sharedQuotaBounds(perSecond(1_000), { processes: 8, margin: 0.1 })).toEqual({
      ...{ holdMs: 100, held: 100, overAdmission: 100, underAdmission: 800, callsPerSecond: 160 },
    })
  })

  const single: Store = { take: async () => [], delete: async () => 0 }

  test.each([
    [() => withSharedQuota(single), /takes one batch at a time/],
    [() => withSharedQuota(single, { margin: 0 }), /withSharedQuota margin must be a number above 0/],
    [() => sharedQuotaBounds(quota, { processes: 1, margin: 0.6 }), /at most 0.5.*got 0.6/],
    [() => sharedQuotaBounds(quota, { processes: 0 }), /processes must be a whole number, 1 or more/],
    [() => withSharedQuota(single, { size: 1 } as object), /has no option "size"/],
  ])('rejects invalid options: %s', (build, message) => {
    expect(build).toThrow(QuotaError)
    expect(build).toThrow(message)
  })
})
