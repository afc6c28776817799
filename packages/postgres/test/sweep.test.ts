import { START } from '@spillway/conformance'
import { perHour, slidingLog, slidingWindow } from '@spillway/core'
import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { type Database, migrate, postgresStore, sweep } from '../src/index.ts'
import { pool, server, take } from './database.ts'
import { unhurried } from './unhurried.ts'

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
    await vi.advanceTimersByTimeAsync(1_800_000)
    expect(swept).toHaveBeenCalledTimes(3)
    store.close()
    vi.advanceTimersByTime(1_800_000)
    expect(swept).toHaveBeenCalledTimes(3)
    vi.useRealTimers()
  })

  // Reproduces a bug: while the table was locked, sweeps used all connections of the pool.
  test('with sweepEvery uses one connection, also while it waits', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const own = new pg.Pool({ ...server.config, max: 4 })
    const store = postgresStore(own, { table: 'waits', sweepEvery: '1s', deadline: '20s' })
    await take(store, 'a', 1, START)
    const client = await pool.connect()
    await client.query('BEGIN; LOCK TABLE waits')
    await vi.advanceTimersByTimeAsync(10_000)
    expect([own.totalCount, own.waitingCount]).toEqual([1, 0])
    await client.query('ROLLBACK')
    client.release()
    store.close()
    vi.useRealTimers()
    await own.end()
    expect((await pool.query('SELECT FROM waits')).rowCount).toBe(0)
  })
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
