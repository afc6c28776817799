import { modelStore, quotas, START } from '@spillway/conformance'
import { perMinute, type Take, tokenBucket } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { migrate } from '../src/index.ts'
import { unhurried } from './unhurried.ts'

let server: Postgres
let pool: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = new pg.Pool({ ...server.config, max: 8 })
  await migrate(pool)
})
afterAll(async () => {
  await pool.end()
  await server.stop()
})

/** Ticks with takes of one quota each: all with the same step, or with two steps. */
const histories = quotas.chain((quota) => {
  const verbs = fc.constantFrom('consume', 'consume', 'consume', 'charge', 'refund', 'peek')
  const take: fc.Arbitrary<Take> = fc.record({
    policy: fc.constant('p'),
    key: fc.constantFrom('a', 'a', 'a', 'b'),
    step: fc.tuple(verbs, fc.integer({ min: 1, max: 3 })).map(([verb, cost]) => stepFor(quota, verb, cost)),
  })
  const ops = fc.uniqueArray(take, { minLength: 1, maxLength: 2, selector: ({ key }) => key })
  const alike = (each: fc.Arbitrary<Take[]>): fc.Arbitrary<Take[][]> =>
    fc.tuple(each, fc.integer({ min: 1, max: 8 })).map(([ops, times]) => Array<Take[]>(times).fill(ops))
  const mixed = fc.array(alike(ops), { minLength: 1, maxLength: 6 }).map((groups) => groups.flat())
  const crowd = fc.oneof(alike(take.map((op) => [op])), mixed)
  return fc.array(fc.record({ after: fc.integer({ min: 0, max: 10_000_000 }), crowd }), { minLength: 1, maxLength: 8 })
})

test('many calls in one tick have the same results as one after the other', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      await pool.query('DELETE FROM spillway')
      const model = modelStore(() => START)
      const store = unhurried(pool)
      let now = START
      for (const { after, crowd } of history) {
        now += after
        const answers = await Promise.all(crowd.map((ops) => store.take(ops, now)))
        expect(answers).toEqual(crowd.map((ops) => model.takeSync(ops, now)))
      }
    }),
    { numRuns: runsOf(50) },
  )
})

// Reproduces a bug: buckets with a remainder had no fast path, and took half as long again.
test.each([
  ['whole microseconds', perMinute(10)],
  ['a remainder', tokenBucket({ limit: 7, per: '1s', burst: 10 })],
])('calls for one key of a bucket with %s do not need the general function', async (kind, quota) => {
  const table = `fast_${kind.length}`
  await migrate(pool, { table })
  await pool.query(`DROP FUNCTION ${table}_take_calls`)
  const store = unhurried(pool, { table })
  const model = modelStore(() => START)
  const ask = (cost: number): Take[] => [{ policy: 'p', key: 'a', step: stepFor(quota, 'consume', cost) }]
  for (const [after, cost, times] of [
    [0, 3, 1],
    [0, 1, 3],
    [0, 5, 1],
    [0, 4, 1],
    // A unit is there after 142,857 1/7 µs, two after 285,714 2/7.
    [142_857, 1, 1],
    [142_858, 1, 1],
    [285_715, 1, 1],
    [60_000_000, 10, 1],
    [60_285_715, 1, 2],
  ] as const) {
    const calls = Array.from({ length: times }, () => ask(cost))
    const answers = await Promise.all(calls.map((ops) => store.take(ops, START + after)))
    expect(answers).toEqual(calls.map((ops) => model.takeSync(ops, START + after)))
  }
})
