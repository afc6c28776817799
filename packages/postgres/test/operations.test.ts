import { START } from '@spillway/conformance'
import {
  perHour,
  perMinute,
  type Quota,
  QuotaError,
  rateLimiter,
  type Store,
  StoreError,
  slidingLog,
  slidingWindow,
  type Taken,
} from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { type Database, migrate, migrationSql, postgresStore, sweep } from '../src/index.ts'
import { unhurried } from './unhurried.ts'

let server: Postgres
let pool: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = new pg.Pool({ ...server.config, max: 4 })
})
afterAll(async () => {
  await pool.end()
  await server.stop()
})

const take = (
  store: Store,
  key: string,
  cost = 1,
  at?: number,
  quota: Quota = perMinute(10),
): Promise<readonly Taken[]> => store.take([{ policy: 'p', key, step: stepFor(quota, 'consume', cost) }], at)

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

// Row 36 of the peers' bugs: a process whose clock is two minutes ahead resets all keys.
test('a process with clock skew counts like all others', async () => {
  const store = unhurried(pool, { table: 'clocks' })
  await take(store, 'a', 10)
  vi.useFakeTimers({ now: Date.now() + 120_000, toFake: ['Date'] })
  const ahead = await take(unhurried(pool, { table: 'clocks' }), 'a')
  vi.useRealTimers()
  expect(ahead[0]?.allowed).toBe(false)
})

test('a role with only the privileges that the README lists can take, delete and sweep', async () => {
  await migrate(pool, { table: 'least' })
  await pool.query(`
    CREATE ROLE app LOGIN;
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
    GRANT USAGE ON SCHEMA public TO app;
    GRANT SELECT, INSERT, UPDATE, DELETE ON least TO app`)
  const app = new pg.Pool({ ...server.config, user: 'app', max: 2 })
  const store = unhurried(app, { table: 'least' })
  expect((await take(store, 'a', 10, START))[0]?.allowed).toBe(true)
  expect((await take(store, 'a', 1, START))[0]?.allowed).toBe(false)
  await store.delete([{ policy: 'p', key: 'a' }])
  expect((await take(store, 'a', 10, START))[0]?.allowed).toBe(true)
  expect(await sweep(app, { table: 'least' })).toBe(1)
  const teaches = 'give this role what the README lists'
  await expect(take(unhurried(app, { table: 'mine' }), 'a')).rejects.toThrow(teaches)
  await expect(migrate(app, { table: 'mine' })).rejects.toThrow(teaches)
  await app.end()
})

describe('sweep', () => {
  test('removes what has expired, batch by batch, and nothing else', async () => {
    const store = unhurried(pool, { table: 'swept' })
    await Promise.all(Array.from({ length: 25 }, (_, i) => take(store, `old-${i}`, 1, START)))
    await take(store, 'new', 10)
    expect(await sweep(pool, { table: 'swept', batch: 10 })).toBe(25)
    expect(await sweep(pool, { table: 'swept' })).toBe(0)
    expect((await take(store, 'new'))[0]?.allowed).toBe(false)
  })

  test.each([
    ['bucket', perHour(10), 3_600],
    ['window', slidingWindow({ limit: 10, window: '1h' }), 7_200],
    ['log', slidingLog({ limit: 10, window: '1h' }), 3_600],
  ])('keeps a %s for a minute longer than it means anything, and for a day at most', async (kind, quota, seconds) => {
    const store = unhurried(pool, { table: `kept_${kind}` })
    await take(store, 'a', 10, START, quota)
    const { rows } = await pool.query(`SELECT expires FROM kept_${kind}`)
    const grace = Number(rows[0].expires) - (START + seconds * 1e6)
    expect([grace >= 60e6, grace <= 60e6 + 86_400e6]).toEqual([true, true])
  })

  test('skips locked rows, and blocks no session', async () => {
    const store = unhurried(pool, { table: 'busy' })
    for (const key of ['a', 'b']) await take(store, key, 1, START)
    const client = await pool.connect()
    await client.query(`BEGIN; SELECT * FROM busy WHERE name = 'p/a' FOR UPDATE`)
    expect(await sweep(pool, { table: 'busy' })).toBe(1)
    await client.query('ROLLBACK')
    client.release()
    expect(await sweep(pool, { table: 'busy' })).toBe(1)
  })

  test('uses the index', async () => {
    await migrate(pool, { table: 'indexed' })
    await pool.query(
      `INSERT INTO indexed SELECT 'n/' || i, i, NULL, i FROM generate_series(1, 5000) i; ANALYZE indexed`,
    )
    const { rows } = await pool.query(
      'EXPLAIN SELECT name FROM indexed WHERE expires < 100 ORDER BY expires LIMIT 1000',
    )
    expect(JSON.stringify(rows)).toContain('indexed_expires')
  })

  test('runs in the process with sweepEvery, until the store is closed', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const swept = vi.fn(async () => ({ rows: [{ swept: 0 }] }))
    const database: Database = { query: swept, exec: async () => {} }
    const store = postgresStore(database, { sweepEvery: '10m' })
    vi.advanceTimersByTime(1_800_000)
    expect(swept).toHaveBeenCalledTimes(3)
    store.close()
    vi.advanceTimersByTime(1_800_000)
    expect(swept).toHaveBeenCalledTimes(3)
    vi.useRealTimers()
  })
})

describe.each([
  ['bucket', perMinute(10)],
  ['window', slidingWindow({ limit: 10, window: '1m' })],
])('durability of a %s', (kind, quota) => {
  test.each([
    ['logged', 'p', 'on'],
    ['async', 'p', 'off'],
    ['unlogged', 'u', 'on'],
  ] as const)('%s is what it says, for its own transactions only', async (durability, persistence, commit) => {
    const table = `${kind}_${durability}`
    const client = await pool.connect()
    const seen: unknown[] = []
    const lent = { query: client.query.bind(client), on: client.on.bind(client), off: client.off.bind(client) }
    const store = unhurried({ connect: async () => ({ ...lent, release: () => {} }) }, { table, durability })
    await store.delete([])
    await client.query('BEGIN')
    await take(store, 'a', 1, undefined, quota)
    seen.push((await client.query('SHOW synchronous_commit')).rows[0].synchronous_commit)
    await client.query('COMMIT')
    seen.push((await client.query('SHOW synchronous_commit')).rows[0].synchronous_commit)
    const { rows } = await client.query('SELECT relpersistence FROM pg_class WHERE relname = $1', [table])
    client.release()
    expect([rows[0].relpersistence, ...seen]).toEqual([persistence, commit, 'on'])
  })
})

test.each([
  [{ table: 'a;b' }, 'postgresStore table must be a name of letters, digits and underscores'],
  [{ schema: '' }, 'postgresStore schema must be a name'],
  [{ durability: 'none' }, "durability must be 'logged', 'async' or 'unlogged'; got \"none\""],
  [{ coalesced: true }, 'Did you mean "coalesce"?'],
  [{ deadline: 0 }, 'postgresStore deadline must be a positive duration'],
  [{ sweepEvery: '30d' }, 'postgresStore sweepEvery must be shorter than 24 days'],
])('rejects %o', (options, message) => {
  expect(() => postgresStore(pool, options as never)).toThrow(message)
  expect(() => postgresStore(pool, options as never)).toThrow(QuotaError)
})

test('rejects an invalid pool and an invalid batch', async () => {
  expect(() => postgresStore('postgres://localhost' as never)).toThrow('`new Pool()` of pg, or `new PGlite()`')
  await expect(sweep(pool, null as never)).rejects.toThrow('sweep takes an object of options; got null')
  await expect(sweep(pool, { batch: 0 })).rejects.toThrow('sweep batch must be a whole number from 1 to 100000; got 0')
})

test('an empty take sends nothing', async () => {
  const store = postgresStore({ connect: () => Promise.reject(new Error('no')) })
  expect(await store.take([])).toEqual([])
})

test('a StoreError has the error of the database as its cause', async () => {
  const away = new pg.Pool({ ...server.config, database: 'nowhere' })
  const error = await take(unhurried(away), 'a').catch((reason) => reason)
  expect(error).toBeInstanceOf(StoreError)
  expect(error.message).toContain('database "nowhere" does not exist (3D000)')
  expect(error.cause.code).toBe('3D000')
  await away.end()
})

test('sends only hashed keys to the database with hashKeys', async () => {
  const store = unhurried(pool, { table: 'hashed', hashKeys: 'correct horse battery' })
  await take(store, 'alice', 10)
  const { rows } = await pool.query('SELECT name FROM hashed')
  expect(rows).toEqual([{ name: expect.stringMatching(/^p\/[\w-]{22}$/) }])
  expect((await take(store, 'alice'))[0]?.allowed).toBe(false)
  await store.delete([{ policy: 'p', key: 'alice' }])
  expect((await take(store, 'alice'))[0]?.allowed).toBe(true)
  expect(() => postgresStore(pool, { hashKeys: 'short' })).toThrow(/^(?!.*short).*16 characters/)
  // Reproduces a bug: an unset environment variable left keys readable.
  expect(() => postgresStore(pool, { hashKeys: undefined } as object)).toThrow('postgresStore hashKeys is undefined')
})

test('two limiters of one name in one table have one quota', () => {
  rateLimiter({ quota: perMinute(100), store: postgresStore(pool, { table: 'apart' }) })
  const strict = (options?: object) => rateLimiter({ quota: perMinute(5), store: postgresStore(pool, options) })
  for (const options of [{}, { coalesce: false }, { hashKeys: 'correct horse battery' }]) {
    expect(() => strict({ ...options, table: 'apart' })).toThrow('two limiters on one database are named "default"')
  }
  strict({ table: 'elsewhere' })
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

test.each([
  ['text', String],
  ['a bigint', BigInt],
])('counts what it deletes if the pool parses numbers as %s', async (_, parse) => {
  const own = new pg.Pool({
    ...server.config,
    max: 1,
    types: { getTypeParser: (type: number) => (value: string) => (type === 23 ? parse(value) : value) } as never,
  })
  const store = unhurried(own, { table: 'parsed' })
  await take(store, 'alice')
  await take(store, 'bob')
  expect(await store.deleteAll?.(['p'])).toBe(2)
  await take(store, 'carol', 1, START)
  expect(await sweep(own, { table: 'parsed' })).toBe(1)
  await own.end()
})
