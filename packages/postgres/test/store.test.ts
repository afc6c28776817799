import { modelStore, START, testStore } from '@spillway/conformance'
import { perDay, perMinute, type Quota, slidingLog, slidingWindow } from '@spillway/core'
import { stepFor, type Verb } from '@spillway/core/internal'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { migrate, type PostgresStoreOptions } from '../src/index.ts'
import { unhurried } from './unhurried.ts'

describe.each([
  // Several connections answer out of order, unless a key has at most one statement in flight.
  { version: 'the system’s', all: [{ coalesce: true }, { coalesce: false, connections: 1 }] },
  { version: 'newest', all: [{ prepare: true }] },
] as const)('PostgreSQL, $version', ({ version, all }) => {
  let server: Postgres
  let pool: pg.Pool
  beforeAll(async () => {
    server = await startPostgres(version === 'newest' ? { version } : {})
    pool = new pg.Pool(server.config)
    await migrate(pool)
  })
  afterAll(async () => {
    await pool.end()
    await server.stop()
  })

  describe.each<PostgresStoreOptions & { connections?: number }>(all)('%o', ({ connections = 8, ...options }) => {
    let own: pg.Pool
    beforeAll(() => {
      own = new pg.Pool({ ...server.config, max: connections })
    })
    afterAll(() => own.end())
    testStore(
      test,
      async () => {
        await pool.query('DELETE FROM spillway')
        return unhurried(own, options)
      },
      { histories: 15 },
    )
  })

  // A row with counts has no tat: an upsert that compared it would neither take nor deny, forever.
  test('a bucket starts with what a window has counted', async () => {
    await pool.query('DELETE FROM spillway')
    const store = unhurried(pool)
    const model = modelStore(() => START)
    const window = slidingWindow({ limit: 10, window: '1m' })
    const takes: readonly (readonly [Quota, Verb, number])[] = [
      [window, 'consume', 4],
      [perMinute(10), 'consume', 6],
      [perMinute(10), 'consume', 1],
      [window, 'charge', 10],
      [perMinute(10), 'charge', 10],
    ]
    for (const [quota, verb, cost] of takes) {
      const ops = [{ policy: 'p', key: 'a', step: stepFor(quota, verb, cost) }]
      expect(await store.take(ops, START)).toEqual(model.takeSync(ops, START))
    }
  })

  test('a bucket counts on the state that another rate has left', async () => {
    await pool.query('DELETE FROM spillway')
    const store = unhurried(pool)
    const model = modelStore(() => START)
    for (const limit of [300, 299, 298, 300]) {
      const ops = [{ policy: 'p', key: 'a', step: stepFor(perDay(limit), 'consume', 1) }]
      expect(await store.take(ops, START)).toEqual(model.takeSync(ops, START))
    }
  })

  test('denies a cost above any quota, for every algorithm', async () => {
    const store = unhurried(pool)
    const quotas = [
      perMinute(10),
      slidingWindow({ limit: 10, window: '30d' }),
      slidingLog({ limit: 10, window: '30d' }),
    ]
    for (const quota of quotas) {
      const step = stepFor(quota, 'consume', Number.MAX_SAFE_INTEGER)
      expect((await store.take([{ policy: 'most', key: quota.kernel, step }]))[0]?.allowed).toBe(false)
    }
  })

  test('reports its version', async () => {
    const { rows } = await pool.query('SHOW server_version_num')
    expect(Number(rows[0].server_version_num)).toBeGreaterThan(version === 'newest' ? 180_000 : 130_000)
  })
})
