import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sharedQuotaBounds, tokenBucket } from '../src/index.ts'
import { quota, type Setting, settled, setUp } from './sharing.ts'

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
