import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BucketQuota } from '../src/algorithms/quota-types.ts'
import { type FixedWindowOptions, fixedWindow, perMinute, perSecond, tokenBucket } from '../src/index.ts'
import { stepFor } from '../src/internal.ts'
import { bucket } from '../src/kernels/bucket.ts'
import type { BucketState } from '../src/kernels/bucket-state.ts'
import type { BucketOutcome, BucketStep } from '../src/kernels/bucket-types.ts'

const NOON = 1_767_268_800_000_000
const second = 1_000_000

/** The state a key has after consuming, or undefined while it has none. */
/** A window of the clock of no more units than microseconds. */
const clockWindow = (options: FixedWindowOptions): BucketQuota => fixedWindow(options) as BucketQuota

function consume(quota: BucketQuota, state: BucketState | undefined, now: number, cost: number) {
  const outcome = bucket(state, now, stepFor(quota, 'consume', cost))
  return { ...outcome, state: outcome.allowed ? outcome.taken : outcome.kept }
}

/** Runs a story of consume calls; each row is [seconds after noon, cost, allowed, microseconds until full]. */
function story(quota: BucketQuota, rows: readonly (readonly [number, number, boolean, number])[]): void {
  let state: BucketState | undefined
  for (const [at, cost, allowed, untilFull] of rows) {
    const now = NOON + at * second
    const outcome = consume(quota, state, now, cost)
    state = outcome.state
    expect([at, cost, outcome.allowed, Math.abs((state as number | undefined) ?? now) - now]).toEqual([
      at,
      cost,
      allowed,
      untilFull,
    ])
  }
}

describe('a bucket, step by step', () => {
  test('drains by its burst and fills by its rate', () =>
    story(perSecond(2, { burst: 4 }), [
      [0, 1, true, 500_000],
      [0, 3, true, 2 * second],
      [0, 1, false, 2 * second],
      [0.499999, 1, false, 1_500_001],
      [0.5, 1, true, 2 * second],
      [10, 5, false, -7_500_000],
      [10, 4, true, 2 * second],
    ]))

  test('of one is strict pacing', () =>
    story(perSecond(10, { burst: 1 }), [
      [0, 1, true, 100_000],
      [0.099999, 1, false, 1],
      [0.1, 1, true, 100_000],
      [60, 1, true, 100_000],
    ]))

  test('with a schedule refills at the start of an interval only', () =>
    story(clockWindow({ limit: 2, window: '1m' }), [
      // The state is kept an interval later than the bucket is full.
      [1, 2, true, 119 * second],
      [59.999999, 1, false, 60 * second + 1],
      [60, 1, true, 90 * second],
      [119, 1, true, 61 * second],
      [119, 1, false, 61 * second],
    ]))
})

describe('the state of a bucket', () => {
  const state = NOON + 60 * second
  const full = { ...perMinute(10) }

  test('is bit-identical after a denial', () => {
    expect(consume(full, state, NOON, 1).state).toBe(state)
  })

  test('is absent while nothing has been consumed: a refund returns nothing', () => {
    expect(bucket(undefined, NOON, stepFor(full, 'refund', 5)).taken).toBeUndefined()
  })

  test('never goes above full: a refund stops at now', () => {
    expect(bucket(state, NOON, stepFor(full, 'refund', 100)).next).toBe(NOON)
  })

  test('stays one number when the last take is refunded, and becomes one again when time has passed what was refunded', () => {
    const takes = [1, 2].map((cost) => stepFor(full, 'consume', cost))
    const first = bucket(undefined, NOON, takes[0] as BucketStep)
    const second_ = bucket(first.taken, NOON, takes[1] as BucketStep)
    const handle = ({ base, next, grossNext }: BucketOutcome) => ({
      original: { allowed: true, now: NOON, base, tat: next, gross: { tick: grossNext, early: 0 } },
    })
    expect(bucket(second_.taken, NOON, stepFor(full, 'refund', 2, handle(second_))).taken).toBe(first.taken)
    const refunded = bucket(second_.taken, NOON, stepFor(full, 'refund', 1, handle(first))).taken
    expect(refunded).toEqual({ tat: NOON + 12 * second, gross: NOON + 18 * second, turn: 0 })
    expect(bucket(refunded, NOON + 17 * second, takes[0] as BucketStep).taken).toMatchObject({
      tat: NOON + 23 * second,
    })
    expect(bucket(refunded, NOON + 18 * second, takes[0] as BucketStep).taken).toBe(NOON + 24 * second)
  })

  test('carries a minus sign while a charge owes more than the bucket holds, and loses it when paid down', () => {
    const owing = bucket(state, NOON, stepFor(full, 'charge', 1)).taken
    expect(owing).toBe(-(NOON + 66 * second))
    expect(bucket(owing, NOON + 6 * second, stepFor(full, 'refund', 1)).taken).toMatchObject({
      tat: NOON + 60 * second,
    })
  })

  test('owes 95 years at most', () => {
    const step = stepFor(tokenBucket({ limit: 1, per: '7d' }), 'charge', 4_960)
    let owing: number | undefined
    for (let i = 0; i < 5; i++) {
      const { allowed, taken } = bucket(owing, NOON, step)
      if (allowed) owing = taken as number
    }
    expect(Number.isSafeInteger(owing)).toBe(true)
    expect(bucket(owing, NOON, step).allowed).toBe(false)
  })

  test('written for another quota is read as a moment: the used share of the bucket is kept', () => {
    const used60Of100 = consume(perMinute(100), undefined, NOON, 60).state
    const { base } = bucket(used60Of100, NOON, stepFor(perMinute(200), 'peek', 1))
    expect((base - NOON) / perMinute(200).ticksPerUnit).toBe(120)
  })

  test('between two refills counts as the more used of them', () => {
    const { base } = bucket(NOON + 80_000_001, NOON, stepFor(clockWindow({ limit: 3, window: '1m' }), 'peek', 1))
    expect(base - (NOON / (60 * second)) * 3).toBe(2)
  })
})

const quotas = fc.oneof(
  fc
    .record({ limit: fc.constantFrom(1, 3, 10, 999, 1_000_000), burst: fc.integer({ min: 1, max: 20 }) })
    .map(({ limit, burst }) => tokenBucket({ limit, per: '1s', burst })),
  fc.constant(tokenBucket({ limit: 1, per: '7d', burst: 3 })),
  fc
    .record({ limit: fc.integer({ min: 1, max: 9 }), burst: fc.integer({ min: 1, max: 20 }) })
    .map(({ limit, burst }) => tokenBucket({ limit, per: '7s', refill: '7s', burst })),
  fc
    .record({ limit: fc.integer({ min: 1, max: 9 }), offset: fc.integer({ min: 1, max: 9_000 }) })
    .map(({ limit, offset }) => clockWindow({ limit, window: '3s', offset })),
)

const calls = fc.array(
  fc.record({ after: fc.integer({ min: 0, max: 5_000_000 }), cost: fc.integer({ min: 1, max: 9 }) }),
  {
    minLength: 1,
    maxLength: 60,
  },
)

describe('a bucket, whatever the history', () => {
  test('admits as many as a plain count of tokens does', () => {
    fc.assert(
      fc.property(quotas, calls, (quota, history) => {
        const count = tokenCounter(quota)
        let state: BucketState | undefined
        let now = NOON + 123_457
        for (const { after, cost } of history) {
          now += after
          const outcome = consume(quota, state, now, cost)
          state = outcome.state
          expect(outcome.allowed).toBe(count(now, cost))
        }
      }),
    )
  })

  test('admits no more than the burst and the rate in any interval', () => {
    fc.assert(
      fc.property(quotas, calls, (quota, history) => {
        fc.pre(quota.schedule === null)
        const admitted: { now: number; cost: number }[] = []
        let state: BucketState | undefined
        let now = NOON
        for (const { after, cost } of history) {
          now += after
          const outcome = consume(quota, state, now, cost)
          state = outcome.state
          if (outcome.allowed) admitted.push({ now, cost })
        }
        for (const [i, first] of admitted.entries()) {
          let units = 0
          for (const each of admitted.slice(i)) {
            units += each.cost
            expect(units).toBeLessThanOrEqual(quota.limit + ((each.now - first.now) * quota.scale) / quota.ticksPerUnit)
          }
        }
      }),
    )
  })

  test('adds no units while the clock steps back, and allows again within the time to full', () => {
    fc.assert(
      fc.property(quotas, calls, fc.integer({ min: 1, max: 1e12 }), (quota, history, step) => {
        let state: BucketState | undefined
        let now = NOON
        for (const { after, cost } of history) {
          now += after
          state = consume(quota, state, now, cost).state
        }
        const before = bucket(state, now, stepFor(quota, 'peek', 1)).base - now
        const back = now - step
        const stepped = consume(quota, state, back, quota.limit + 1)
        if (quota.schedule === null) expect(stepped.base - back).toBeGreaterThanOrEqual(before)
        const full = back + quota.window + (quota.schedule?.interval ?? 0)
        expect(consume(quota, stepped.state, full, quota.limit).allowed).toBe(true)
      }),
    )
  })
})

/** The textbook bucket, kept in fractions of a token that are whole numbers: an independent account of the truth. */
function tokenCounter(quota: BucketQuota): (now: number, cost: number) => boolean {
  const { schedule } = quota
  const per = BigInt(schedule ? 1 : quota.ticksPerUnit)
  const capacity = BigInt(quota.limit) * per
  const clock = (now: number): bigint =>
    schedule
      ? BigInt(Math.floor((now + schedule.offset) / schedule.interval)) * BigInt(schedule.amount)
      : BigInt(now) * BigInt(quota.scale)
  let tokens = capacity
  let last: bigint | undefined
  return (now, cost) => {
    const at = clock(now)
    tokens += at - (last ?? at)
    if (tokens > capacity) tokens = capacity
    last = at
    const price = BigInt(cost) * per
    if (tokens < price) return false
    tokens -= price
    return true
  }
}
