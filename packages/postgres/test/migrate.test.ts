import { START } from '@spillway/conformance'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrate, migrationSql } from '../src/index.ts'
import { pool, server, take } from './database.ts'
import { unhurried } from './unhurried.ts'

const functionsOf = async (table: string): Promise<readonly string[]> => {
  const like = `${table}\\_%`
  return (await pool.query('SELECT proname FROM pg_proc WHERE proname LIKE $1', [like])).rows.map((row) => row.proname)
}

describe('migrate', () => {
  // While processes are replaced one by one, those before still call the functions as their version did: a step had fifteen
  // numbers until version 2. Read as later ones, they would have denied nothing.
  test('keeps what earlier code calls', async () => {
    await migrate(pool)
    const takeAll = async (steps: string, calls: string): Promise<number[]> => {
      const names = ['early/bucket', 'early/window'].join('\n')
      const query = 'SELECT spillway_take_all($1, $2, $3, $4, $5, false) AS taken'
      const { rows } = await pool.query(query, [names, steps, calls, START, '1000'])
      return rows[0].taken.split(' ').map((number: string) => Number(number) - (Number(number) >= START ? START : 0))
    }
    const second = 1_000_000
    const bucket = (cost: number) =>
      `1 0 ${cost * second} ${cost * second} ${4 * second} ${4 * second} 0 0 0 0 0 0 0 0 0`
    const refund = `1 0 ${-second} 0 3000000000000000 ${4 * second} 0 ${Number.MAX_SAFE_INTEGER} 0 0 0 0 0 0 0`
    const window = `2 0 2 2 3 10 ${second} 1000 0 0 0 0 0 0 0`
    const both = [bucket(3), window].join(' ')
    expect(await takeAll(both, '2 1 1 2 2')).toEqual([0, 1, 0, 3 * second, 3 * second, 1, 0, 2, 0])
    expect(await takeAll(both, '2 1 1 2 2')).toEqual([0, 0, 3 * second, 3 * second, 3 * second, 0, 0, 2, 0])
    expect(await takeAll([refund, bucket(2)].join(' '), '1 1 1 1 1 2')).toEqual([
      0,
      ...[1, 3 * second, 2 * second, 3 * second],
      ...[1, 2 * second, 4 * second, 5 * second],
    ])
  })

  // Row 37 of the peers' bugs: of four instances that start together three fail.
  test('by eight processes at once makes one table, without an error', async () => {
    const starters = Array.from({ length: 8 }, () => new pg.Pool({ ...server.config, max: 1 }))
    await Promise.all(starters.map((starter) => migrate(starter, { table: 'eight', schema: 'fresh' })))
    await Promise.all(starters.map((starter) => starter.end()))
    const { rows } = await pool.query('SELECT count(*) FROM fresh.eight')
    expect(rows).toEqual([{ count: '0' }])
  })

  test('by eight processes at once makes eight tables of one new schema', async () => {
    const starters = Array.from({ length: 8 }, () => new pg.Pool({ ...server.config, max: 1 }))
    await Promise.all(starters.map((starter) => starter.query('SELECT')))
    await Promise.all(starters.map((starter, i) => migrate(starter, { table: `t${i}`, schema: 'shared' })))
    await Promise.all(starters.map((starter) => starter.end()))
    const { rows } = await pool.query(`SELECT count(*) FROM pg_tables WHERE schemaname = 'shared'`)
    expect(rows).toEqual([{ count: '8' }])
  })

  test('keeps the states when it runs again', async () => {
    const store = unhurried(pool, { table: 'again' })
    await take(store, 'a', 10)
    await migrate(pool, { table: 'again' })
    await pool.query(migrationSql({ table: 'again' }))
    expect((await take(store, 'a'))[0]?.allowed).toBe(false)
  })

  test('does nothing if a later version has run', async () => {
    await migrate(pool, { table: 'later' })
    await pool.query(
      `DROP FUNCTION later_version(); CREATE FUNCTION later_version() RETURNS int LANGUAGE sql AS 'SELECT 99'`,
    )
    await pool.query('DROP FUNCTION later_sweep')
    await migrate(pool, { table: 'later' })
    expect(await functionsOf('later')).not.toContain('later_sweep')
  })

  test('is printed as plain SQL, for a transaction of your own', async () => {
    await pool.query(`BEGIN; ${migrationSql({ table: 'printed', schema: 'elsewhere' })} COMMIT`)
    const functions = await functionsOf('printed')
    const store = unhurried(pool, { table: 'printed', schema: 'elsewhere' })
    expect((await take(store, 'a'))[0]?.allowed).toBe(true)
    expect(await functionsOf('printed')).toEqual(functions)
  })

  // Row 36 of the peers' bugs: calls right after the start fail because the table is missing.
  test('runs before the first take, once for concurrent takes, and again if the table was dropped', async () => {
    const store = unhurried(pool, { table: 'lazily' })
    await Promise.all(Array.from({ length: 20 }, (_, i) => take(store, `k${i}`)))
    await pool.query('DROP TABLE lazily')
    await expect(take(store, 'a')).rejects.toThrow('lazily')
    expect((await take(store, 'a'))[0]?.allowed).toBe(true)
  })

  // Reproduces a bug: each call failed, until the process was restarted.
  test('runs again if the schema was dropped', async () => {
    const store = unhurried(pool, { schema: 'dropped' })
    await take(store, 'a')
    await pool.query('DROP SCHEMA dropped CASCADE')
    await expect(take(store, 'a')).rejects.toThrow('schema "dropped" does not exist (3F000). Run migrate(pool)')
    expect((await take(store, 'a'))[0]?.allowed).toBe(true)
  })
})

// Reproduces a bug: CREATE SCHEMA IF NOT EXISTS needs CREATE on the database even if the schema exists. The error advised
// to run the same statements as the owner, which failed, too.
describe('migrate by a role that may not create schemas', () => {
  const options = { schema: 'owned' }
  let role: pg.Pool
  beforeAll(async () => {
    await pool.query('CREATE ROLE tenant LOGIN')
    role = new pg.Pool({ ...server.config, user: 'tenant', max: 1 })
  })
  afterAll(() => role?.end())
  const denied = 'permission denied for database postgres (42501). As a role that may create it, run'

  test('succeeds in a schema that the role owns', async () => {
    await expect(migrate(role, options)).rejects.toThrow(denied)
    await pool.query('CREATE SCHEMA owned AUTHORIZATION tenant')
    await migrate(role, options)
    await role.query(migrationSql(options))
    expect((await take(unhurried(role, options), 'a'))[0]?.allowed).toBe(true)
  })

  test('fails with advice that works, if the schema does not exist', async () => {
    const absent = { schema: 'absent', table: 'limits' }
    await expect(migrate(role, absent)).rejects.toThrow(denied)
    await pool.query(migrationSql(absent))
    await expect(take(unhurried(role, absent), 'a')).rejects.toThrow('A role that may do no more')
    await pool.query(`
      GRANT USAGE ON SCHEMA absent TO tenant;
      GRANT SELECT, INSERT, UPDATE, DELETE ON absent.limits TO tenant`)
    expect((await take(unhurried(role, absent), 'a'))[0]?.allowed).toBe(true)
  })
})

// Reproduces a bug: the error was the server's, `column "expires" does not exist`.
test('rejects a table of other columns with the option to set', async () => {
  await pool.query('CREATE TABLE invoices (number int)')
  await expect(migrate(pool, { table: 'invoices' })).rejects.toThrow('(42703). A table of this name has other columns')
})

// PostgreSQL 8 to 9.0 had it by default, and some databases still do.
test('migrates and counts in sessions whose strings have escapes', async () => {
  const escaping = new pg.Pool({ ...server.config, max: 1, options: '-c standard_conforming_strings=off' })
  const store = unhurried(escaping, { table: 'escapes' })
  expect((await take(store, 'Ärmel', 10))[0]?.allowed).toBe(true)
  expect((await take(store, 'Ärmel'))[0]?.allowed).toBe(false)
  const hash = "SELECT escapes_hash_of('Ärmel') AS name"
  const names = [await escaping.query(hash), await pool.query(hash)].map(({ rows }) => rows[0].name)
  expect(names).toEqual([expect.stringMatching(/^#[\w-]{43}$/), names[0]])
  await escaping.end()
})
