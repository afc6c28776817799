import { perDay, rateLimiter } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { until } from '../../../test/services/redis-cluster.ts'
import { postgresStore } from '../src/index.ts'
import { unhurried } from './unhurried.ts'

// Commits that hang, as they do while a synchronous standby is lost: the session stays when its client has closed the connection.

const MANY = perDay(10_000)

let server: Postgres
let admin: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  admin = new pg.Pool({ ...server.config, max: 1 })
})
afterAll(async () => {
  await admin.end()
  await server.stop()
})

const standby = async (name: string): Promise<void> => {
  await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
  await admin.query('SELECT pg_reload_conf()')
  await until(
    async () => (await admin.query('SHOW synchronous_standby_names')).rows[0].synchronous_standby_names === name,
  )
}

// Reproduces a bug: a pool of 4 held 46 sessions after a minute, one more for each call that was not answered.
test('a store holds at most the sessions of its pool and four more', async () => {
  const pool = new pg.Pool({ ...server.config, max: 2, application_name: 'hanging' })
  const store = postgresStore(pool, { deadline: 100, coalesce: false })
  const calm = rateLimiter({ quota: MANY, store: unhurried(pool), deadline: '20s', onStoreError: 'throw' })
  await calm.consume('ready')
  await standby('lost')
  const step = stepFor(MANY, 'consume', 1)
  const take = (i: number) => store.take([{ policy: 'p', key: `k${i}`, step }])
  const reasonOf = (i: number) =>
    take(i).then(
      () => 'none',
      ({ reason }) => reason,
    )
  // Commits wait from when the checkpointer has read the setting, which no view shows.
  for (let i = 100; (await reasonOf(i)) === 'none'; i++);
  const sessions = `FROM pg_stat_activity WHERE application_name = 'hanging'`
  const reasons: string[] = []
  for (let i = 0; i < 24; i++) reasons.push(await reasonOf(i))
  expect(reasons.filter((reason) => reason === 'none')).toEqual([])
  // All that it holds wait for the standby: nothing else is sent.
  await until(async () => pool.idleCount === 0 && pool.totalCount === 2)
  expect(reasons.at(-1)).toBe('pool')
  expect((await admin.query(`SELECT ${sessions}`)).rowCount).toBeLessThanOrEqual(6)
  await standby('')
  await until(async () => pool.idleCount === pool.totalCount)
  expect(await calm.consume('ready')).toMatchObject({ allowed: true })
  await pool.end()
})
