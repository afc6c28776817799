import { START } from '@spillway/conformance'
import { perHour, type Quota, slidingLog, slidingWindow } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { server, take } from './database.ts'
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

// Reproduces a bug: the migration failed in a database whose encoding lacks a character of its comments (22P05). In LATIN2
// `spillway_consume` counted the key "Łódź" on another row than a limiter.
test('a database in LATIN2 counts, and rejects characters beyond ASCII in SQL', async () => {
  const admin = new pg.Pool({ ...server.config, max: 1 })
  await admin.query("CREATE DATABASE latin ENCODING 'LATIN2' LOCALE 'C' TEMPLATE template0")
  await admin.end()
  const pool = new pg.Pool({ ...server.config, database: 'latin', max: 1 })
  const store = unhurried(pool)
  expect((await take(store, 'Łódź', 10))[0]?.allowed).toBe(true)
  expect((await take(store, 'Łódź'))[0]?.allowed).toBe(false)
  const consume = (key: string) => pool.query('SELECT allowed FROM spillway_consume($1, 10, $2)', [key, '1 minute'])
  await expect(consume('Łódź')).rejects.toThrow(
    "spillway_consume: characters beyond ASCII need a database in UTF8; got 'Łódź' in LATIN2",
  )
  expect((await consume('a'.repeat(500))).rows).toEqual([{ allowed: true }])
  await pool.end()
})

// Reproduces a bug: the server cuts names of statements at 63 bytes, so that all had one name, and all calls of one function
// failed (42P05).
test('prepared statements of long names of a schema and a table are two', async () => {
  const pool = new pg.Pool({ ...server.config, max: 1 })
  const warned = vi.spyOn(console, 'error').mockReturnValue()
  const store = unhurried(pool, { schema: 'a'.repeat(40), table: 'b'.repeat(40), prepare: true })
  for (const cost of [6, 5]) {
    expect((await take(store, 'bucket', cost, START))[0]?.allowed).toBe(cost === 6)
    expect((await take(store, 'log', cost, START, slidingLog({ limit: 7, window: '1m' })))[0]?.allowed).toBe(cost === 6)
  }
  const { rows } = await pool.query('SELECT name FROM pg_prepared_statements ORDER BY name')
  expect(rows).toEqual(
    ['take_bucket', 'take_calls'].map((name) => ({ name: expect.stringMatching(`^${name} .{16}$`) })),
  )
  await pool.end()
  expect(warned).not.toHaveBeenCalled()
})

test('prepared statements of two tables in one session are apart', async () => {
  const pool = new pg.Pool({ ...server.config, max: 1 })
  for (const table of ['one', 'other']) {
    const store = unhurried(pool, { table, prepare: true })
    expect((await take(store, 'a', 10, START))[0]?.allowed).toBe(true)
  }
  await pool.end()
})
