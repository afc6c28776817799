import assert from 'node:assert/strict'
import {
  fixedWindow,
  isSync,
  leakyBucket,
  type Micros,
  penalty,
  perMinute,
  type Quota,
  type Store,
  slidingLog,
  slidingWindow,
  type Take,
  type Taken,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
import { sizesUpTo, stepFor, type Verb } from '@spillway/core/internal'
import fc from 'fast-check'
import { START } from './clock.ts'
import { histories, momentsOf } from './histories.ts'
import { made } from './made.ts'
import { modelStore } from './model.ts'
import { quotas } from './random-quotas.ts'
import type { TestFunction } from './runner.ts'

/** A call of `consumeUpTo` with its result. The time is in milliseconds after {@link START}. */
export type UpToRow = readonly [atMs: number, units: number, consumed: number, remaining: number]

/** Golden vectors of `consumeUpTo`, on one key under each quota. */
export const upToVectors: readonly {
  readonly name: string
  readonly quota: Quota
  readonly rows: readonly UpToRow[]
}[] = /* @__PURE__ */ made(() => [
  {
    name: 'a token bucket',
    quota: perMinute(10),
    rows: [
      [0, 7, 7, 3],
      [0, 7, 3, 0],
      [0, 7, 0, 0],
      [5_999.999, 1, 0, 0],
      [18_000, 100, 3, 0],
      [1_000_000, 1_000, 10, 0],
    ],
  },
  {
    name: 'a bucket with an overdraft, which is not drawn upon',
    quota: tokenBucket({ limit: 1, per: '1s', burst: 3, overdraft: 8 }),
    rows: [
      [0, 9, 3, 0],
      [0, 1, 0, 0],
      [2_000, 9, 2, 0],
    ],
  },
  {
    name: 'interval refill',
    quota: tokenBucket({ limit: 4, per: '10s', refill: '10s', burst: 6 }),
    rows: [
      [0, 5, 5, 1],
      [9_999, 5, 1, 0],
      [10_000, 5, 4, 0],
    ],
  },
  {
    name: 'a fixed window',
    quota: fixedWindow({ limit: 5, window: '10s' }),
    rows: [
      [0, 3, 3, 2],
      [9_999, 3, 2, 0],
      [10_000, 9, 5, 0],
    ],
  },
  {
    name: 'a fixed window from the first request',
    quota: fixedWindow({ limit: 5, window: '10s', align: 'first' }),
    rows: [
      [3_000, 3, 3, 2],
      [12_999, 3, 2, 0],
      [13_000, 9, 5, 0],
    ],
  },
  {
    name: 'a leaky bucket, whose queue counts',
    quota: leakyBucket({ limit: 1, per: '1s', queue: 3 }),
    rows: [
      [0, 9, 4, 0],
      [1_500, 9, 1, 0],
    ],
  },
  {
    name: 'a key that warms up, one unit at a time',
    quota: warmingUp({ limit: 1, per: '1s', warmUpPeriod: '4s' }),
    rows: [
      [0, 5, 1, 0],
      [2_499.999, 5, 0, 0],
      [2_500, 5, 1, 0],
    ],
  },
  {
    name: 'a penalty, until its block',
    quota: penalty({ after: 5, within: '10s', block: '1m' }),
    rows: [
      [0, 3, 3, 2],
      [1_000, 3, 2, 0],
      [60_999.999, 1, 0, 0],
      [61_000, 9, 5, 0],
    ],
  },
  {
    name: 'a sliding window',
    quota: slidingWindow({ limit: 10, window: '10s' }),
    rows: [
      [0, 8, 8, 2],
      [12_500, 9, 4, 0],
      [15_000, 9, 2, 0],
    ],
  },
  {
    name: 'a sliding log',
    quota: slidingLog({ limit: 10, window: '10s' }),
    rows: [
      [0, 6, 6, 4],
      [5_000, 6, 4, 0],
      [10_000, 9, 6, 0],
    ],
  },
])

const PREPAID = { prepaid: true }

/** The results of a store for batches in one step. */
async function eachOf(
  store: Store,
  batches: readonly (readonly Take[])[],
  at: Micros,
): Promise<readonly (readonly Taken[])[]> {
  if (isSync(store)) return batches.map((ops) => store.takeSync(ops, at))
  assert.ok(store.takeEach, 'a store that answers with promises takes several batches in one step by takeEach')
  return store.takeEach(batches, at)
}

/** Consumes up to `units` of all these policies, and returns how many. */
async function consumeUpTo(
  store: Store,
  of: readonly { readonly policy: string; readonly key: string; readonly quota: Quota }[],
  units: number,
  at: Micros,
): Promise<number> {
  const sizes = sizesUpTo(units)
  const batches = sizes.map((size) =>
    of.map(({ policy, key, quota }) => ({ policy, key, step: stepFor(quota, 'consume', size, PREPAID) })),
  )
  const answers = await eachOf(store, batches, at)
  return answers.reduce((sum, taken, i) => sum + (taken.every(({ allowed }) => allowed) ? (sizes[i] as number) : 0), 0)
}

/** The maximum number of units that fit, by linear search. */
function mostThat(units: number, fits: (cost: number) => boolean): number {
  let most = 0
  while (most < units && fits(most + 1)) most++
  return most
}

/** Tests the parts of a store that `consumeUpTo` needs. */
export function testUpTo(test: TestFunction, makeStore: () => Store | Promise<Store>, numRuns: number): void {
  for (const { name, quota, rows } of upToVectors) {
    test(`consumeUpTo matches the golden vectors: ${name}`, async () => {
      const store = await makeStore()
      const model = modelStore(() => START)
      for (const row of rows) {
        const at = START + Math.round(row[0] * 1000)
        const consumed = await consumeUpTo(store, [{ policy: 'p', key: 'a', quota }], row[1], at)
        assert.equal(await consumeUpTo(model, [{ policy: 'p', key: 'a', quota }], row[1], at), consumed)
        let remaining = 0
        const fits = async (cost: number): Promise<boolean | undefined> => {
          const step = stepFor(quota, 'peek', cost, PREPAID)
          return (await store.take([{ policy: 'p', key: 'a', step }], at))[0]?.allowed
        }
        while (await fits(remaining + 1)) remaining++
        assert.deepEqual([row[0], row[1], consumed, remaining], row)
      }
    })
  }

  test('takes several all-or-nothing batches in one step like the model one by one', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const model = modelStore(() => START)
        const store = await makeStore()
        // Every three calls are one step, at the time of the first.
        const moments = momentsOf(history)
        for (let i = 0; i < history.length; i += 3) {
          const batches = history.slice(i, i + 3).map(({ ops }) => ops)
          const at = moments[i] as Micros
          assert.deepEqual(
            await eachOf(store, batches, at),
            batches.map((ops) => model.takeSync(ops, at)),
          )
        }
      }),
      { numRuns },
    )
  })

  // Found by a random history: seed 773447173. PostgreSQL took the part of a microsecond of the bucket before.
  test('a bucket starts with what another kernel has counted in the same step, without the parts of its own state', async () => {
    const bucket = tokenBucket({ limit: 7, per: '3s', burst: 5, initial: 0 })
    const others = [
      penalty({ after: 5, within: '250ms', block: '1ms' }),
      slidingWindow({ limit: 5, window: '1s' }),
      slidingLog({ limit: 5, window: '1s' }),
      warmingUp({ limit: 5, per: '1s', warmUpPeriod: '1s' }),
    ]
    const opOf = (quota: Quota, verb: Verb): Take => ({ policy: 'p', key: 'a', step: stepFor(quota, verb, 1) })
    for (const other of others) {
      for (const verb of ['consume', 'charge', 'refund'] as const) {
        const [store, model] = [await makeStore(), modelStore(() => START)]
        const batches = [[opOf(bucket, 'consume')], [opOf(other, 'charge')], [opOf(bucket, verb)]]
        const expected = batches.map((ops) => model.takeSync(ops, START))
        assert.deepEqual(await eachOf(store, batches, START), expected)
        const look = [opOf(bucket, 'peek')]
        assert.deepEqual(await store.take(look, START), model.takeSync(look, START))
      }
    }
  })

  test('consumes the maximum that fits in all policies, with the same states as one take', async () => {
    const costs = fc.integer({ min: 1, max: 20 })
    await fc.assert(
      fc.asyncProperty(quotas, quotas, costs, costs, costs, async (one, other, first, second, units) => {
        const [store, model] = [await makeStore(), modelStore(() => START)]
        const of = [
          { policy: 'p', key: 'a', quota: one },
          { policy: 'q', key: 'a', quota: other },
        ]
        const opsOf = (verb: 'consume' | 'peek', cost: number): readonly Take[] =>
          of.map(({ policy, key, quota }) => ({ policy, key, step: stepFor(quota, verb, cost, PREPAID) }))
        const used = [first, second].map((cost, i) => [{ ...(opsOf('consume', cost)[i] as Take) }])
        for (const ops of used) for (const each of [store, model]) await each.take(ops, START)
        const most = mostThat(units, (cost) =>
          model.takeSync(opsOf('peek', cost), START).every(({ allowed }) => allowed),
        )
        if (most > 0) model.takeSync(opsOf('consume', most), START)
        assert.equal(await consumeUpTo(store, of, units, START), most)
        for (const op of opsOf('peek', 1)) assert.deepEqual(await store.take([op], START), model.takeSync([op], START))
      }),
      { numRuns },
    )
  })

  test('consumes exactly the limit in 40 concurrent calls of consumeUpTo', async () => {
    const store = await makeStore()
    const of = [{ policy: 'p', key: 'hot', quota: perMinute(100) }]
    const consumed = await Promise.all(Array.from({ length: 40 }, () => consumeUpTo(store, of, 7, START)))
    assert.equal(
      consumed.reduce((sum, units) => sum + units, 0),
      100,
    )
    assert.ok(consumed.filter((units) => units === 7).length >= 14)
  })
}
