import assert from 'node:assert/strict'
import {
  type BucketTaken,
  leakyBucket,
  type Micros,
  perMinute,
  perSecond,
  rateLimiter,
  type Store,
  type Taken,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
import { decide, stepFor } from '@spillway/core/internal'
import fc from 'fast-check'
import { testAnyRate } from './any-rate.ts'
import { testBlockList } from './block-list.ts'
import { testChanges } from './changes.ts'
import { START } from './clock.ts'
import { testDeletion } from './deletion.ts'
import { testPreparedTakes } from './fast-path.ts'
import { histories, momentsOf } from './histories.ts'
import { testInvariants } from './invariants.ts'
import { testLedger } from './ledger.ts'
import { testListing } from './listing.ts'
import { modelStore } from './model.ts'
import { testNoUnits } from './no-units.ts'
import type { TestFunction } from './runner.ts'
import { runsOf } from './runs.ts'
import { testSpill } from './spill.ts'
import { awkwardKeys, consume, peek } from './takes.ts'
import { testUpTo } from './up-to.ts'
import { vectors } from './vectors.ts'

/** Options of `testStore`. */
export interface StoreSuiteOptions {
  /**
   * The number of random histories to replay; use fewer for a slow store. With `SPILLWAY_RUNS=10` in the environment, ten
   * times as many are replayed.
   * @default `300`
   */
  readonly histories?: number
  /**
   * False for a store with several connections, whose calls may run out of order.
   * @default `true`
   */
  readonly ordered?: boolean
}

const momentOf = (millis: number): Micros => START + Math.round(millis * 1000)

/**
 * Tests the contract of {@link Store}. Each call of `makeStore` must return an empty store.
 *
 * @example
 * testStore(test, () => memoryStore())
 */
export function testStore(
  test: TestFunction,
  makeStore: () => Store | Promise<Store>,
  { histories: usual = 300, ordered = true }: StoreSuiteOptions = {},
): void {
  const runs = runsOf(usual)
  for (const { name, quota, rows } of vectors) {
    test(`matches the golden vectors: ${name}`, async () => {
      const store = await makeStore()
      const answers: Taken[] = []
      for (const row of rows) {
        const [atMs, verb, cost, , , , , of] = row
        const step = stepFor(quota, verb, cost, of === undefined ? {} : { original: answers[of] as Taken })
        const [taken] = await store.take([{ policy: 'p', key: 'a', step }], momentOf(atMs))
        answers.push(taken as Taken)
        const { allowed, remaining, retryAfterMs, resetAfterMs } = decide('p', quota, cost, step, taken as Taken)
        assert.deepEqual([atMs, verb, cost, allowed, remaining, retryAfterMs, resetAfterMs], row.slice(0, 7))
      }
    })
  }

  test('matches the model for random histories', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const model = modelStore(() => START)
        const store = await makeStore()
        const moments = momentsOf(history)
        for (const [i, { ops }] of history.entries()) {
          assert.deepEqual(await store.take(ops, moments[i]), model.takeSync(ops, moments[i]))
        }
      }),
      { numRuns: runs },
    )
  })

  testInvariants(test, makeStore, Math.ceil(runs / 15))
  testLedger(test, makeStore, Math.ceil(runs / 10))
  testAnyRate(test, makeStore, Math.ceil(runs / 3))
  // Many, because a prepared take has special cases that few histories reach.
  testPreparedTakes(test, makeStore, 4 * runs)
  testUpTo(test, makeStore, Math.ceil(runs / 5))
  testSpill(test, makeStore, Math.ceil(runs / 10))
  testBlockList(test, makeStore)
  testChanges(test, makeStore)
  testNoUnits(test, makeStore)

  test('admits exactly the burst of 200 racing requests', async () => {
    const store = await makeStore()
    const answers = await Promise.all(Array.from({ length: 200 }, () => store.take([consume('hot')], START)))
    assert.equal(answers.filter(([taken]) => taken?.allowed).length, 10)
  })

  test('returns a separate result for each of 1,000 calls in one tick', async () => {
    const store = await makeStore()
    // Rows 1 and 40 of the peers' bugs: a result shared between calls swaps the verdicts of those in one tick.
    const keys = Array.from({ length: 1000 }, (_, i) => `user-${i % 250}`)
    const answers = await Promise.all(keys.map((key) => store.take([consume(key, 4)], START)))
    const taken = keys.filter((_, i) => answers[i]?.[0]?.allowed)
    const firstTwoOfEach = keys.slice(0, 500)
    assert.deepEqual(taken.toSorted(), firstTwoOfEach.toSorted())
    if (ordered)
      assert.deepEqual(
        answers.map(([one]) => one?.allowed),
        keys.map((_, i) => i < 500),
      )
    assert.equal(new Set(answers.map(([taken]) => taken)).size, 1000)
  })

  test('takes all ops of a batch or none', async () => {
    const store = await makeStore()
    await store.take([consume('a', 10)], START)
    const denied = await store.take([consume('b', 3), consume('a', 1), consume('c', 3)], START)
    assert.deepEqual(
      denied.map((taken) => taken.allowed),
      [true, false, true],
    )
    const after = await store.take([consume('b', 10), consume('c', 10)], START)
    assert.deepEqual(
      after.map((taken) => taken.allowed),
      [true, true],
    )
  })

  test('admits exactly the limit of batches with the same keys in opposite orders', async () => {
    const store = await makeStore()
    const forth = [consume('x'), consume('y'), consume('z')]
    const batches = Array.from({ length: 100 }, (_, i) => (i % 2 ? forth : forth.toReversed()))
    const answers = await Promise.all(batches.map((ops) => store.take(ops, START)))
    assert.equal(answers.filter((taken) => taken.every(({ allowed }) => allowed)).length, 10)
    const left = await store.take([peek('x'), peek('y'), peek('z')], START)
    assert.deepEqual(
      left.map((taken) => taken.allowed),
      [false, false, false],
    )
  })

  // Row 7 of the peers' bugs: a denied request is charged, and then a smaller request is denied, too.
  test('does not change the state for denials and peeks', async () => {
    const store = await makeStore()
    await store.take([consume('a', 8)], START)
    const before = await store.take([peek('a')], START)
    await store.take([consume('a', 3)], START + 1_000)
    await store.take([peek('a')], START + 2_000)
    assert.deepEqual(await store.take([peek('a')], START), before)
  })

  test('admits after exactly the wait and not a microsecond sooner', async () => {
    const store = await makeStore()
    const quota = perSecond(3, { burst: 7 })
    await store.take([consume('a', 7, quota)], START)
    const wait = Math.ceil((5 * quota.ticksPerUnit) / quota.scale)
    const [early] = await store.take([consume('a', 5, quota)], START + wait - 1)
    const [due] = await store.take([consume('a', 5, quota)], START + wait)
    assert.deepEqual([early?.allowed, due?.allowed], [false, true])
  })

  test('over-admits nothing when the clock steps back, and recovers within the time to full', async () => {
    const store = await makeStore()
    await store.take([consume('a', 10)], START)
    const hourAgo = START - 3_600_000_000
    const [back] = await store.take([consume('a')], hourAgo)
    const [soon] = await store.take([consume('a')], hourAgo + 5_999_999)
    const [later] = await store.take([consume('a')], hourAgo + 6_000_000)
    assert.deepEqual([back?.allowed, soon?.allowed, later?.allowed], [false, false, true])
  })

  test('keeps a debt of any size until it is paid', async () => {
    const store = await makeStore()
    const quota = tokenBucket({ limit: 10, per: '1m' })
    await store.take([{ policy: 'p', key: 'a', step: stepFor(quota, 'charge', 100) }], START)
    const [early] = await store.take([consume('a', 1, quota)], START + 91 * 6_000_000 - 1)
    const [paid] = await store.take([consume('a', 1, quota)], START + 91 * 6_000_000)
    assert.deepEqual([early?.allowed, paid?.allowed], [false, true])
  })

  // The first unit ends at 142,857 1/7 µs. A seventh is no number of elevenths: the next one follows 142,858.
  test('rounds up the part of a microsecond that another quota has left', async () => {
    const store = await makeStore()
    await store.take([consume('a', 1, perSecond(7))], START)
    const [taken] = await store.take([consume('a', 1, perSecond(11))], START)
    assert.equal((taken as BucketTaken).tat, START + 142_858 + 90_910)
  })

  testDeletion(test, makeStore)
  testListing(test, makeStore)

  test('keeps every two keys apart, with any characters', async () => {
    const store = await makeStore()
    for (const each of awkwardKeys) {
      const [taken] = await store.take([{ ...each, step: stepFor(perMinute(10), 'consume', 10) }], START)
      assert.equal(taken?.allowed, true, `${JSON.stringify(each).slice(0, 80)} shares its state with another key`)
      const [again] = await store.take([{ ...each, step: stepFor(perMinute(10), 'consume', 1) }], START)
      assert.equal(again?.allowed, false, `${JSON.stringify(each).slice(0, 80)} lost its state`)
    }
  })

  test('has its own clock', async () => {
    const store = await makeStore()
    const [taken] = await store.take([consume('a')])
    assert.ok(Number.isSafeInteger(taken?.now), 'now is in whole microseconds')
  })

  // Reproduces a bug: the rest of maxWait was sent with parts of a microsecond, which PostgreSQL rejected with the whole batch.
  for (const [i, quota] of [
    perMinute(10),
    leakyBucket({ limit: 600, per: '1m', queue: 9 }),
    warmingUp({ limit: 600, per: '1m', warmUpPeriod: '1m' }),
  ].entries()) {
    test(`lets callers wait up to maxWait: ${quota.kernel} of ${quota.limit}`, async () => {
      const store = await makeStore()
      const limiter = rateLimiter({ name: `wait ${i}`, quota, store, onStoreError: 'throw', deadline: '30s' })
      const decisions = await Promise.all(['a', 'b', 'c'].map((key) => limiter.wait(key, { maxWait: '5s' })))
      assert.deepEqual(
        decisions.map(({ allowed }) => allowed),
        [true, true, true],
      )
    })
  }
}
