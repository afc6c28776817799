import { START } from '@spillway/conformance'
import { perMinute, QuotaError, rateLimiter, type Store, StoreError, slidingWindow } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { migrate, postgresStore, sweep } from '../src/index.ts'
import { pool, server, take } from './database.ts'
import { unhurried } from './unhurried.ts'

// Row 36 of the peers' bugs: a process whose clock is two minutes ahead resets all keys.
test('a process with clock skew counts like all others', async () => {
  const store = unhurried(pool, { table: 'clocks' })
  await take(store, 'a', 10)
  vi.useFakeTimers({ now: Date.now() + 120_000, toFake: ['Date'] })
  const ahead = await take(unhurried(pool, { table: 'clocks' }), 'a')
  vi.useRealTimers()
  expect(ahead[0]?.allowed).toBe(false)
})

test('a role with only the privileges that the README lists can take, delete, list and sweep', async () => {
  // So that new functions are not public.
  await pool.query('ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC')
  await migrate(pool, { table: 'least' })
  await pool.query(`
    ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
    CREATE ROLE app LOGIN;
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
    GRANT USAGE ON SCHEMA public TO app;
    GRANT SELECT, INSERT, UPDATE, DELETE ON least TO app;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO app`)
  const app = new pg.Pool({ ...server.config, user: 'app', max: 2 })
  const store = unhurried(app, { table: 'least' })
  const { deleteAll, list } = store as Required<Store>
  expect((await take(store, 'a', 10, START))[0]?.allowed).toBe(true)
  expect((await take(store, 'a', 1, START))[0]?.allowed).toBe(false)
  const step = stepFor(perMinute(10), 'peek', 1)
  for await (const chunk of list('p', step)) expect(chunk).toMatchObject([{ key: 'a' }])
  await store.delete([{ policy: 'p', key: 'a' }])
  expect((await take(store, 'a', 10, START))[0]?.allowed).toBe(true)
  expect(await deleteAll(['p'])).toBe(1)
  await take(store, 'a', 10, START)
  expect(await sweep(app, { table: 'least' })).toBe(1)
  const teaches = 'give this role what the README lists'
  await expect(take(unhurried(app, { table: 'mine' }), 'a')).rejects.toThrow(teaches)
  await expect(migrate(app, { table: 'mine' })).rejects.toThrow(teaches)
  await app.end()
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
