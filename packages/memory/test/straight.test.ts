import { fakeClock, modelStore, quotas } from '@spillway/conformance'
import {
  type Decision,
  perMinute,
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

/** What somebody does with a limiter, some time after what was done before. */
interface Act {
  readonly afterMs: number
  readonly key: string
  readonly by: 0 | 1
  readonly verb: 'consume' | 'peek' | 'refund' | 'charge' | 'reserve' | 'reset'
  readonly cost: number
}

/** What is done in turn, with at most so long between; and sometimes the clock steps back. */
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

// Over within a minute: the memory store may forget a state a minute after time has emptied it.
const short = histories(1_000)

/** Two limiters that share the states of one policy, of which both have an idea of their own, as two processes may. */
function limitersOver(store: SyncStore, pair: readonly Quota[]): readonly SyncRateLimiter[] {
  return pair.map((quota) => rateLimiter({ quota, store: { ...store, scope: { owner: {}, name: '' } }, name: 'p' }))
}

async function told(limiter: SyncRateLimiter, { verb, key, cost }: Act): Promise<Decision | undefined> {
  if (verb === 'consume') return limiter.consumeSync(key, cost)
  if (verb === 'reset') return void (await limiter.reset(key))
  if (verb !== 'reserve') return limiter[verb](key, cost)
  const { commit, cancel, ...decision } = await limiter.reserve(key, { cost, maxWait: '20s' })
  if (decision.remaining % 2 === 0) await cancel()
  return decision
}

/** Has two stores live through the same, and expects the same answers to the last bit. */
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
    expect(await told(ones[act.by] as SyncRateLimiter, act)).toStrictEqual(
      await told(others[act.by] as SyncRateLimiter, act),
    )
  }
}

test('the straight way decides as the general way does over a store that forgets nothing', () =>
  fc.assert(
    fc.asyncProperty(fc.tuple(quotas, quotas), short, async (pair, history) => {
      const clock = fakeClock()
      await expectAlike(memoryStore({ clock }), modelStore(clock), pair, history, clock.advance)
    }),
    { numRuns: 500 },
  ))

// What the property above has found: a log with nothing left in it is the same as none since 1970.
test('the straight way takes from a bucket where a log was that has been given back', async () => {
  const clock = fakeClock()
  const pair = [slidingLog({ limit: 3, window: '1m' }), perMinute(1)]
  const [log, bucket] = limitersOver(memoryStore({ clock }), pair) as [SyncRateLimiter, SyncRateLimiter]
  log.consumeSync('a')
  await log.refund('a')
  expect([bucket.consumeSync('a').allowed, (await bucket.peek('a')).allowed]).toEqual([true, false])
})

test('the straight way forgets what the general way forgets', () =>
  fc.assert(
    fc.asyncProperty(fc.tuple(quotas, quotas), histories(90_000), async (pair, history) => {
      const clock = fakeClock()
      const store = memoryStore({ clock, maxKeys: 2 })
      const plain = memoryStore({ clock, maxKeys: 2 })
      await expectAlike(store, withoutStraightWays(plain), pair, history, clock.advance)
      expect([store.size, store.forgotten]).toEqual([plain.size, plain.forgotten])
    }),
    { numRuns: 500 },
  ))

const withoutStraightWays = ({ take, takeSync, delete: remove, deleteSync }: MemoryStore): SyncStore => ({
  take,
  takeSync,
  delete: remove,
  deleteSync,
})

test('a store with room for a million keys answers as one with room for few', () =>
  fc.assert(
    fc.asyncProperty(fc.tuple(quotas, quotas), short, async (pair, history) => {
      const clock = fakeClock()
      await expectAlike(memoryStore({ clock, maxKeys: 1_000_000 }), modelStore(clock), pair, history, clock.advance)
    }),
  ))

/** What a guard decides about requests, some of which are corrected later, and what is left after each of these. */
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

// In a queue, requests would really wait.
const unqueued = quotas.filter((quota) => quota.kernel !== 'bucket' || quota.prompt === quota.limit)

test('the straight way is corrected to what a request really cost as the general way is', () =>
  fc.assert(
    fc.asyncProperty(unqueued, short, async (quota, history) => {
      const [one, other] = [fakeClock(), fakeClock()]
      expect(await guarded(memoryStore({ clock: one }), quota, history, one.advance)).toStrictEqual(
        await guarded(modelStore(other), quota, history, other.advance),
      )
    }),
    { numRuns: 500 },
  ))
