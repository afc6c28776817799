import { perDay, type Quota, type Store, type Taken } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'

export let server: Postgres
export let pool: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = new pg.Pool({ ...server.config, max: 4 })
})
afterAll(async () => {
  await pool.end()
  await server.stop()
})

export const take = (
  store: Store,
  key: string,
  cost = 1,
  at?: number,
  quota: Quota = perDay(10),
): Promise<readonly Taken[]> => store.take([{ policy: 'p', key, step: stepFor(quota, 'consume', cost) }], at)
