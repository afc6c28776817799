import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { START } from '@spillway/conformance'
import { fixedWindow, perDay, slidingWindow } from '@spillway/core'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { PROGRAM } from '../../../test/program.ts'
import { until } from '../../../test/services/redis-cluster.ts'
import { migrate } from '../src/index.ts'
import { VERSION } from '../src/migration.ts'
import { pool, server, take } from './database.ts'
import { unhurried } from './unhurried.ts'

// A migration of a database in use: other transactions are open, and other processes count.

const QUOTA = perDay(1_000_000)

const versionOf = async (table: string): Promise<number> =>
  (await pool.query(`SELECT ${table}_version() AS version`)).rows[0].version

/** A table of the version before, and a transaction that has consumed a unit in it and stays open. */
async function inUse(table: string): Promise<pg.PoolClient> {
  await migrate(pool, { table })
  await setVersion(pool, table, VERSION - 1)
  const client = await pool.connect()
  await client.query('BEGIN')
  await client.query(`SELECT * FROM ${table}_consume('open', 10, '1 day')`)
  return client
}

const setVersion = (on: pg.Pool | pg.PoolClient, table: string, version: number): Promise<unknown> =>
  on.query(`CREATE OR REPLACE FUNCTION ${table}_version() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT ${version}'`)

// Reproduces a bug: `CREATE INDEX IF NOT EXISTS` waited for up to 27 s for each open transaction, and each take behind it:
// 106 of 169 were counted in the process.
test('migrates at once while a transaction that has written is open', async () => {
  const client = await inUse('locked')
  await migrate(pool, { table: 'locked' })
  expect(await versionOf('locked')).toBe(VERSION)
  await client.query('ROLLBACK')
  client.release()
})

test('holds up no take while it waits for a lock that it needs', async () => {
  const client = await inUse('waited')
  // Only to build an index needs a lock.
  await client.query('COMMIT')
  await client.query('DROP INDEX waited_expires')
  await client.query('BEGIN')
  await client.query(`SELECT * FROM waited_consume('open', 10, '1 day')`)
  let isDone = false
  const migrated = migrate(pool, { table: 'waited' }).then(() => {
    isDone = true
  })
  const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%search_path%lock_timeout%'`
  await until(async () => (await pool.query(waits)).rowCount === 1)
  // A call that would wait for the migration fails: it waits for no lock for longer than 9 s.
  for (let i = 0; i < 20; i++) {
    const { rows } = await pool.query(
      `SELECT waited_take_bucket('p/a', 1, 0, 1, 1000000, 1, 1000000, 1000000, 0, 1000000, 0, '', NULL, '9000', false) AS taken`,
    )
    expect(rows[0].taken).toMatch(/^\d+ 1 \d+ 0$/)
  }
  expect(isDone).toBe(false)
  await client.query('COMMIT')
  await migrated
  client.release()
  expect(await versionOf('waited')).toBe(VERSION)
})

// Reproduces a bug: the older version replaced the functions of the later one.
test('does nothing if a later version has run while it waited', async () => {
  const client = await inUse('later_first')
  await client.query('ROLLBACK; BEGIN')
  await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('spillway public.later_first', 0))`)
  const migrated = migrate(pool, { table: 'later_first' })
  const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'advisory'`
  await until(async () => (await pool.query(waits)).rowCount === 1)
  await setVersion(client, 'later_first', 99)
  await client.query('COMMIT')
  client.release()
  await migrated
  expect(await versionOf('later_first')).toBe(99)
})

/** Stops the migration of a process named `dying` amid its statements, until the returned function is called. */
async function stopAmidMigration(): Promise<() => Promise<void>> {
  const client = await pool.connect()
  await client.query(`
    CREATE FUNCTION stopped() RETURNS event_trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$ BEGIN
      IF current_setting('application_name') = 'dying' THEN PERFORM pg_advisory_xact_lock(7); END IF;
    END $$;
    CREATE EVENT TRIGGER stopped ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION') EXECUTE FUNCTION stopped()`)
  await client.query('SELECT pg_advisory_lock(7)')
  return async () => {
    await client.query('SELECT pg_advisory_unlock(7); DROP EVENT TRIGGER stopped; DROP FUNCTION stopped')
    client.release()
  }
}

test.each([
  ['and the server completes what it sent', 'SELECT'],
  [
    'and the server ends its connection',
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dying'`,
  ],
])('a process is killed while it migrates, %s: others count on, and migrate', async (what, afterwards) => {
  const table = what.includes('ends') ? 'ended' : 'completed'
  await migrate(pool, { table })
  await setVersion(pool, table, VERSION - 1)
  const store = unhurried(pool, { table })
  const goOn = await stopAmidMigration()
  const file = fileURLToPath(new URL('migrating.ts', import.meta.url))
  const dying = fork(file, [JSON.stringify(server.config), table], { execArgv: [...PROGRAM] })
  const stopped = `SELECT FROM pg_stat_activity WHERE application_name = 'dying' AND wait_event = 'advisory'`
  await until(async () => (await pool.query(stopped)).rowCount === 1)
  dying.kill('SIGKILL')
  await once(dying, 'exit')

  const taken = take(store, 'a')
  const waiting = `SELECT FROM pg_stat_activity WHERE application_name <> 'dying' AND wait_event = 'advisory'`
  await until(async () => (await pool.query(waiting)).rowCount === 1)
  // Calls of processes that need not migrate do not wait for it.
  await pool.query(`SELECT * FROM ${table}_consume('b', 10, '1 day')`)
  await pool.query(afterwards)
  await goOn()
  expect((await taken)[0]).toMatchObject({ allowed: true })
  expect(await versionOf(table)).toBe(VERSION)
})

// Reproduces a bug: all of any number of calls were allowed.
test.each([
  ['a bucket', QUOTA, 'RETURN NULL'],
  ['a bucket', QUOTA, 'RETURN OLD'],
  ['a bucket', QUOTA, 'NEW.tat := OLD.tat; RETURN NEW'],
  ['a bucket of parts of a microsecond', perDay(7), 'RETURN OLD'],
  ['a window', slidingWindow({ limit: 100, window: '1d' }), 'RETURN NULL'],
  ['a window', slidingWindow({ limit: 100, window: '1d' }), 'NEW.counts := OLD.counts; RETURN NEW'],
  ['a window', slidingWindow({ limit: 100, window: '1d' }), 'RETURN OLD'],
  ['a fixed window', fixedWindow({ limit: 100, window: '1d' }), 'RETURN OLD'],
])('a trigger that suppresses the updates of %s does not admit everything: %#', async (key, quota, body) => {
  const store = unhurried(pool, { table: 'suppressed' })
  await take(store, key, 1, START, quota)
  await pool.query(`
    CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; END $$;
    CREATE TRIGGER suppress BEFORE UPDATE ON suppressed FOR EACH ROW EXECUTE FUNCTION suppress()`)
  const taken = take(store, key, 1, START + 1, quota)
  await expect(taken).rejects.toThrow('a trigger of the table has changed or suppressed an update')
  await pool.query('DROP TABLE suppressed; DROP FUNCTION suppress')
})
