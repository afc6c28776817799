import { fakeClock, modelStore, quotas } from '@spillway/conformance'
import {
  type Decision,
  perMinute,
  perSecond,
  type Quota,
  rateLimiter,
  type SyncRateLimiter,
  type SyncStore,
  slidingLog,
} from '@spillway/core'
import { httpGuard, type RequestDecision, type Verdict } from '@spillway/core/http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { type MemoryStore, memoryStore } from '../src/index.ts'

/** One call of a limiter, some time after the previous one. */
interface Act {
  readonly afterMs: number
  readonly key: string
  readonly by: 0 | 1
  readonly verb: 'consume' | 'peek' | 'refund' | 'charge' | 'reserve' | 'reset'
  readonly cost: number
}

/** A sequence of calls, at most this far apart. Sometimes the clock steps back. */
const histories = (longestMs: number): fc.Arbitrary<readonly Act[]> =>
  fc.array(
    fc.record({
      afterMs: fc.oneof(fc.constant(0), fc.nat(longestMs), fc.nat(longestMs), fc.integer({ min: -30_000, max: -1 })),
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      by: fc.constantFrom(0, 0, 0, 1),
      verb: fc.constantFrom('consume', 'consume', 'consume', 'consume', 'peek', 'refund', 'charge', 'reserve', 'reset'),
      cost: fc.constantFrom(1, 1, 1, 2, 9),
    }),
    { maxLength: 60 },
  )

// Shorter than a minute: the memory store may sweep a state one minute after it has expired.
const short = histories(1_000)

/** Two limiters that share the states of one policy with different quotas, as two processes may. */
function limitersOver(store: SyncStore, pair: readonly Quota[]): readonly SyncRateLimiter[] {
  return pair.map((quota) => rateLimiter({ quota, store: { ...store, scope: { owner: {}, name: '' } }, name: 'p' }))
}

async function reported(limiter: SyncRateLimiter, { verb, key, cost }: Act): Promise<Decision | undefined> {
  if (verb === 'consume') return limiter.consumeSync(key, cost)
  if (verb === 'reset') return void (await limiter.reset(key))
  if (verb !== 'reserve') return limiter[verb](key, cost)
  const { commit, cancel, ...decision } = await limiter.reserve(key, { cost, maxWait: '20s' })
  if (decision.remaining % 2 === 0) await cancel()
  return decision
}

/** Runs the same calls on two stores, and expects identical results. */
async function expectAlike(
  one: SyncStore,
  other: SyncStore,
  pair: readonly Quota[],
  history: readonly Act[],
  advance: (millis: number) => void,
): Promise<void> {
  const [ones, others] = [limitersOver(one, pair), limitersOver(other, pair)]
  for (const act of history) {
    advance(act.afterMs)
    expect(await reported(ones[act.by] as SyncRateLimiter, act)).toStrictEqual(
      await reported(others[act.by] as SyncRateLimiter, act),
    )
  }
}

test('the fast path decides like the general path over a store that evicts nothing', () =>
  fc.assert(
    fc.asyncProperty(fc.tuple(quotas, quotas), short, async (pair, history) => {
      const clock = fakeClock()
      await expectAlike(memoryStore({ clock }), modelStore(clock), pair, history, clock.advance)
    }),
    { numRuns: 500 },
  ))

// The property above found this: an empty log expires at 0, in 1970.
test('the fast path takes from a bucket in place of a log that was refunded', async () => {
  const clock = fakeClock()
  const pair = [slidingLog({ limit: 3, window: '1m' }), perMinute(1)]
  const [log, bucket] = limitersOver(memoryStore({ clock }), pair) as [SyncRateLimiter, SyncRateLimiter]
  log.consumeSync('a')
  await log.refund('a')
  expect([bucket.consumeSync('a').allowed, (await bucket.peek('a')).allowed]).toEqual([true, false])
})

test('the fast path clears the part of a microsecond that a quota with a remainder has left', async () => {
  const clock = fakeClock()
  const pair = [perSecond(7), perSecond(10)]
  const consume = { key: 'a', verb: 'consume', cost: 1, afterMs: 0 } as const
  const history = ([0, 1, 0] as const).map((by) => ({ ...consume, by }))
  await expectAlike(memoryStore({ clock }), modelStore(clock), pair, history, clock.advance)
})

test('the fast path of several policies decides like the general path, by a cost for each', () => {
  const unit = fc.constantFrom(0, 1, 1, 2, 9)
  const history = fc.array(
    fc.record({ afterMs: fc.nat(1_000), cost: fc.oneof(fc.constantFrom(1, 3), fc.record({ p: unit, q: unit })) }),
    { maxLength: 30 },
  )
  return fc.assert(
    fc.asyncProperty(fc.tuple(quotas, quotas), history, async ([p, q], acts) => {
      const clock = fakeClock()
      const plain = withoutStraightWays(memoryStore({ clock }))
      const [fast, general] = [memoryStore({ clock }), plain].map((store) => rateLimiter({ quotas: { p, q }, store }))
      for (const { afterMs, cost } of acts) {
        clock.advance(afterMs)
        const decide = (limiter: SyncRateLimiter | undefined) => {
          try {
            return limiter?.consumeSync('a', cost)
          } catch (error) {
            return String(error)
          }
        }
        expect(decide(fast)).toStrictEqual(decide(general))
      }
    }),
    { numRuns: 200 },
  )
})

test('the fast path evicts what the general path evicts', () =>
  fc.assert(
    fc.asyncProperty(fc.tuple(quotas, quotas), histories(90_000), async (pair, history) => {
      const clock = fakeClock()
      const store = memoryStore({ clock, maxKeys: 2 })
      const plain = memoryStore({ clock, maxKeys: 2 })
      await expectAlike(store, withoutStraightWays(plain), pair, history, clock.advance)
      expect([store.size, store.evictions]).toEqual([plain.size, plain.evictions])
    }),
    { numRuns: 500 },
  ))

const withoutStraightWays = ({ take, takeSync, delete: remove, deleteSync }: MemoryStore): SyncStore => ({
  take,
  takeSync,
  delete: remove,
  deleteSync,
})

test('a store with room for a million keys decides like one with room for few', () =>
  fc.assert(
    fc.asyncProperty(fc.tuple(quotas, quotas), short, async (pair, history) => {
      const clock = fakeClock()
      await expectAlike(memoryStore({ clock, maxKeys: 1_000_000 }), modelStore(clock), pair, history, clock.advance)
    }),
  ))

/** The decisions of a guard, some with a later correction of the cost, and the remaining units after each. */
async function guarded(store: SyncStore, quota: Quota, history: readonly Act[], advance: (millis: number) => void) {
  const guard = httpGuard<object>({ store, quota, headers: false }, plainReader)
  const decide = (): RequestDecision => (guard({}) as Verdict).decision as RequestDecision
  const seen: unknown[] = []
  for (const { afterMs, by, cost } of history) {
    advance(afterMs)
    const { settle, ...decision } = decide()
    seen.push(decision)
    if (by === 0) continue
    advance(cost)
    await settle(cost - 1)
  }
  return seen
}

// With a queue, requests would wait in real time. Slots have no cost to correct.
const corrected = quotas.filter(
  (quota) => quota.kernel !== 'slots' && (quota.kernel !== 'bucket' || quota.immediateUnits === quota.limit),
)

test('the fast path corrects the actual cost of a request like the general path', () =>
  fc.assert(
    fc.asyncProperty(corrected, short, async (quota, history) => {
      const [one, other] = [fakeClock(), fakeClock()]
      expect(await guarded(memoryStore({ clock: one }), quota, history, one.advance)).toStrictEqual(
        await guarded(modelStore(other), quota, history, other.advance),
      )
    }),
    { numRuns: 500 },
  ))

// Expired entries are removed from a log when there are many of them.
test('a long log decides like the general path while its entries expire', () =>
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(30), fc.constantFrom(1, 1, 1, 2, 40)), { minLength: 400, maxLength: 400 }),
      (calls) => {
        const clock = fakeClock()
        const quota = slidingLog({ limit: 60, window: '1s' })
        const [ours, model] = [memoryStore({ clock }), modelStore(clock)].map((store) => rateLimiter({ quota, store }))
        for (const [afterMs, cost] of calls) {
          clock.advance(afterMs)
          expect(ours?.consumeSync('a', cost)).toStrictEqual(model?.consumeSync('a', cost))
        }
      },
    ),
    { numRuns: 20 },
  ))
