import assert from 'node:assert/strict'
import {
  type Decision,
  type Micros,
  type Store,
  type Taken,
  type TokenBucketOptions,
  tokenBucket,
} from '@spillway/core'
import { decide, stepFor, type Verb } from '@spillway/core/internal'
import fc from 'fast-check'
import { START } from './clock.ts'
import { type ExactTake, exactBucket } from './exact.ts'
import { made } from './made.ts'
import type { TestFunction } from './runner.ts'

const YEAR_MS = 365 * 86_400_000

/** Whole limits from 1 on. Most do not divide the microseconds of a second, a minute or a day. */
const limits = /* @__PURE__ */ made(() =>
  fc.oneof(
    fc.constantFrom(1, 3, 7, 9_999, 29_411, 30_000, 60_000, 1e6, 999_999_999, 1e9, 1e11, 2 ** 52 - 1, 2 ** 52),
    fc.integer({ min: 1, max: 1_000_000 }),
    fc.integer({ min: 1, max: 1_000_000_000 }),
  ),
)

/** Rates from one unit per year to 2^52 units per microsecond. */
export const anyRate: fc.Arbitrary<TokenBucketOptions> = /* @__PURE__ */ made(() =>
  fc
    .record({
      limit: limits,
      per: fc.oneof(
        fc.constantFrom(0.001, 1, 1_000, 60_000, 3_600_000, 86_400_000, YEAR_MS),
        fc.integer({ min: 1, max: YEAR_MS }),
      ),
      share: fc.constantFrom(0, 0.3, 1, 2.5),
      overdraft: fc.constantFrom(0, 0, 5),
    })
    .map(({ limit, per, share, overdraft }) => ({
      limit,
      per,
      burst: Math.min(Math.max(Math.floor(limit * share), 1), Number.MAX_SAFE_INTEGER),
      overdraft,
    })),
)

/** An action on a key. Fractions are shares of the bucket's window, or of its units. */
export interface Act {
  readonly after: number
  readonly verb: Verb
  readonly cost: number
  readonly maxWait: number
  /** The index of the refunded take, counted from the last; without a handle if there are fewer takes. */
  readonly which: number
}

const shares = /* @__PURE__ */ made(() =>
  fc.oneof(fc.constantFrom(0, 0, 1, 0.5), fc.double({ min: 0, max: 1, noNaN: true })),
)

export const actsAtAnyRate: fc.Arbitrary<readonly Act[]> = /* @__PURE__ */ made(() =>
  fc.array(
    fc.record({
      after: fc.oneof(shares, fc.integer({ min: -3, max: 3 }), fc.double({ min: -2, max: 0, noNaN: true })),
      verb: fc.constantFrom<Verb[]>('consume', 'consume', 'consume', 'peek', 'refund', 'refund', 'charge'),
      cost: fc.oneof(shares, fc.integer({ min: 1, max: 14 })),
      maxWait: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, shares),
      which: fc.integer({ min: -4, max: 0 }),
    }),
    { minLength: 1, maxLength: 30 },
  ),
)

const micros = (ms: number): Micros => Math.round(ms * 1000)
const share = (part: number, of: number): number => (Number.isInteger(part) ? part : Math.floor(part * of))

// A store may sweep a state one minute after it has expired, and its results then differ.
const LONGEST_SPAN: Micros = 1e13

/** Runs a history of one key on a store and by brute force, and compares the results. */
export async function playExactly(store: Store, options: TokenBucketOptions, acts: readonly Act[]): Promise<void> {
  const quota = tokenBucket(options)
  const exact = exactBucket(options)
  const span = Math.min(quota.window, LONGEST_SPAN)
  const takes: { readonly taken: Taken; readonly take: ExactTake }[] = []
  let now = START
  for (const { after, verb, which, ...act } of acts) {
    now += share(after, span)
    const cost = Math.max(Math.abs(share(act.cost, Math.min(quota.limit, 2 ** 50))), 1)
    const maxWaitMicros = verb === 'consume' ? share(act.maxWait, span) : 0
    const of = verb === 'refund' ? takes.at(which) : undefined
    const step = stepFor(quota, verb, cost, {
      ...(verb === 'consume' && { maxWaitMicros }),
      ...(of && { original: of.taken }),
    })
    const [taken] = (await store.take([{ policy: 'p', key: 'a', step }], now)) as [Taken]
    const decision = decide('p', quota, cost, step, taken)
    const { take, ...answer } = exact({ verb, cost, now, maxWaitMicros, of: of?.take })
    assert.deepEqual(inMicros(decision), answer)
    if (verb === 'consume' && decision.allowed) takes.push({ taken, take })
  }
}

const inMicros = (decision: Decision) => ({
  allowed: decision.allowed,
  remaining: decision.remaining,
  retryAfter: micros(decision.retryAfterMs),
  resetAfter: micros(decision.resetAfterMs),
  replenishAfter: micros(decision.replenishAfterMs),
  delay: micros(decision.delayMs),
})

/** Compares a store's buckets of any rate with a count in big integers. */
export function testAnyRate(test: TestFunction, makeStore: () => Store | Promise<Store>, numRuns: number): void {
  test('counts any rate exactly, to the microsecond', () =>
    fc.assert(
      fc.asyncProperty(anyRate, actsAtAnyRate, async (options, acts) => playExactly(await makeStore(), options, acts)),
      { numRuns },
    ))

  // Reproduces a bug: 30,000 per second was rejected, and 9,999 was 9,900, because both need parts of a microsecond.
  test('refills a million units in exactly their time', async () => {
    const store = await makeStore()
    for (const limit of [7, 9_999, 29_411, 30_000, 999_983, 999_999_937]) {
      const quota = tokenBucket({ limit, per: '1s', burst: 1_000_000 })
      const key = `${limit} a second`
      const ask = async (cost: number, at: Micros): Promise<boolean> => {
        const step = stepFor(quota, 'consume', cost)
        return ((await store.take([{ policy: 'p', key, step }], at)) as [Taken])[0].allowed
      }
      const due = START + Number((1_000_000n * 1_000_000n + BigInt(limit) - 1n) / BigInt(limit))
      assert.deepEqual(
        [await ask(1_000_000, START), await ask(1_000_000, due - 1), await ask(1_000_000, due)],
        [true, false, true],
      )
    }
  })
}
