import { START } from '@spillway/conformance'
import { perDay, type Quota, type Store, type Taken } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { unhurried } from './unhurried.ts'

export let server: Postgres
export let pool: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = newPool(8)
})
beforeEach(async () => {
  await unhurried(pool).delete([])
  await pool.query('DROP TRIGGER IF EXISTS fail ON spillway; DELETE FROM spillway')
})
afterAll(async () => {
  await pool.end()
  await server.stop()
})

/** A pool with an error listener, which `pg` requires. */
export function newPool(max: number, config: pg.PoolConfig = server.config): pg.Pool {
  return new pg.Pool({ ...config, max }).on('error', () => {})
}

export const MANY = perDay(10_000)
export const take = (store: Store, key: string, at?: number, quota: Quota = MANY): Promise<readonly Taken[]> =>
  store.take([{ policy: 'p', key, step: stepFor(quota, 'consume', 1) }], at)

/** The number of units taken of a key whose calls were all at START. */
export async function unitsOf(key: string, table = 'spillway'): Promise<number> {
  const { rows } = await pool.query(`SELECT tat FROM ${table} WHERE name = $1`, [`p/${key}`])
  return (Number(rows[0].tat) - START) / MANY.ticksPerUnit
}

/** Locks a key's row until released, like a transaction of another session. */
export async function holding(key: string): Promise<{ release(): Promise<void> }> {
  const client = await pool.connect()
  await client.query('BEGIN')
  await client.query('SELECT * FROM spillway WHERE name = $1 FOR UPDATE', [`p/${key}`])
  return {
    async release() {
      await client.query('ROLLBACK')
      client.release()
    },
  }
}

export const pidOf = async (from: pg.Pool): Promise<number> =>
  (await from.query('SELECT pg_backend_pid() AS pid')).rows[0].pid

/** Makes the next writes fail, like engines that abort conflicting transactions instead of blocking them. */
export async function failing(times: number, code: string, message = 'injected'): Promise<void> {
  await pool.query(`
    DROP SEQUENCE IF EXISTS failures; CREATE SEQUENCE failures;
    CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('public.failures') <= ${times} THEN RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = '${message}'; END IF;
      RETURN NEW;
    END $$;
    DROP TRIGGER IF EXISTS fail ON spillway;
    CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON spillway FOR EACH ROW EXECUTE FUNCTION fail()`)
}
