import { START } from '@spillway/conformance'
import { perHour, type Quota, slidingLog, slidingWindow } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { expect, test } from 'vitest'
import { server } from './database.ts'
import { unhurried } from './unhurried.ts'

// Settings that a database, a role or a pool may have.

const quotas: readonly Quota[] = [
  perHour(7),
  slidingWindow({ limit: 10, window: '1m' }),
  slidingLog({ limit: 10, window: '1m' }),
]

// Reproduces a bug: with `array_nulls = off`, each call for several policies failed with `invalid input syntax for type
// bigint: "NULL"`.
test('several policies are counted with array_nulls=off', async () => {
  const pool = new pg.Pool({ ...server.config, max: 1, options: '-c array_nulls=off' })
  const store = unhurried(pool, { table: 'settings' })
  const consume = (cost: number) =>
    store.take(
      quotas.map((quota, i) => ({ policy: `p${i}`, key: 'a', step: stepFor(quota, 'consume', cost) })),
      START,
    )
  expect((await consume(6)).map(({ allowed }) => allowed)).toEqual([true, true, true])
  expect((await consume(2)).map(({ allowed }) => allowed)).toEqual([false, true, true])
  await pool.end()
})
