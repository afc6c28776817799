import { START } from '@spillway/conformance'
import { type Duration, type Quota, type Store, slidingWindow } from '@spillway/core'
import { stepFor, type Verb } from '@spillway/core/internal'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrate, type PgPool, postgresStore, sweep } from '../src/index.ts'
import { failing, holding, MANY, newPool, pidOf, pool, take, unitsOf } from './failures.ts'
import { unhurried } from './unhurried.ts'

// Timeouts need a real clock. These calls wait for their deadline, which is long before the 30 s timeout of a test.
// Calls that must succeed have enough time on slow machines.
describe.each([{ coalesce: true }, { coalesce: false }])('the deadline holds, %o,', (how) => {
  let one: pg.Pool
  let patient: Store
  beforeEach(async () => {
    one = newPool(1)
    patient = unhurried(one, how)
    await take(patient, 'a', START)
  })
  afterEach(() => one.end())
  const hurried = (deadline: Duration): Store => postgresStore(one, { ...how, deadline })

  test('while another session locks the row; nothing is taken later, and the connection is kept', async () => {
    const pid = await pidOf(one)
    const holder = await holding('a')
    // The server's lock timeout is 10 % shorter: one second, so that its error arrives in time on a slow machine.
    await expect(take(hurried('10s'), 'a', START)).rejects.toThrow('Another transaction holds')
    await holder.release()
    expect(await pidOf(one)).toBe(pid)
    await take(patient, 'a', START)
    expect(await unitsOf('a')).toBe(2)
  })

  test('while all connections are in use; a connection that arrives late is released', async () => {
    const client = await one.connect()
    await expect(take(hurried(200), 'a', START)).rejects.toThrow('PostgreSQL did not answer in 200 ms')
    client.release()
    await take(patient, 'a', START)
    expect(await unitsOf('a')).toBe(2)
    expect([one.totalCount, one.idleCount, one.waitingCount]).toEqual([1, 1, 0])
  })

  test('while the server is frozen', async () => {
    const pid = await pidOf(one)
    process.kill(pid, 'SIGSTOP')
    await expect(take(hurried(200), 'a', START)).rejects.toThrow('PostgreSQL did not answer in 200 ms')
    // It is still frozen, and the pool has another connection.
    await take(patient, 'a', START)
    process.kill(pid, 'SIGCONT')
  })

  test('while every attempt fails', async () => {
    await failing(1_000_000, '40001')
    await expect(take(hurried(500), 'a', START)).rejects.toThrow(
      /Other transactions held its locks for 500 ms|did not answer in 500 ms/,
    )
  })
})

test('the general statement also stops waiting for a row lock before its caller times out', async () => {
  const windowed = slidingWindow({ limit: 10, window: '1m' })
  await take(unhurried(pool), 'a', START, windowed)
  const holder = await holding('a')
  // One second of real time for a slow machine, as above.
  const hurried = postgresStore(pool, { deadline: '10s' })
  await expect(take(hurried, 'a', START, windowed)).rejects.toThrow('Another transaction holds')
  await holder.release()
})

// Reproduces a bug: statements but those of buckets waited for the table's lock without a timeout. The client closed the
// connection, the server's session waited on, and each probe of the circuit added another, up to max_connections.
test.each([
  ['the table', 'LOCK TABLE spillway IN ACCESS EXCLUSIVE MODE'],
  ['the rows', 'SELECT * FROM spillway FOR UPDATE'],
])('no statement waits longer than its caller while another session locks %s', async (_, locks) => {
  // One second of real time for a slow machine, as above.
  const options = { deadline: '10s', coalesce: false } as const
  const [store, fresh] = [postgresStore(pool, options), postgresStore(pool, options)]
  const { deleteAll, list } = store as Required<Store>
  const windowed = slidingWindow({ limit: 10, window: '1m' })
  const op = (key: string, quota: Quota, verb: Verb = 'consume') => ({
    policy: 'p',
    key,
    step: stepFor(quota, verb, 1),
  })
  // A row each: a session that waits for a row behind another one has the timeout twice.
  for (const key of ['bucket', 'fresh', 'deleted']) await store.take([op(key, MANY)], START)
  await store.take([op('window', windowed)], START)
  await store.take([{ ...op('all', MANY), policy: 'q' }], START)
  const holder = await pool.connect()
  await holder.query('BEGIN')
  await holder.query(locks)
  const calls: Readonly<Record<string, Promise<unknown>>> = {
    bucket: store.take([op('bucket', MANY)], START),
    window: store.take([op('window', windowed)], START),
    fresh: fresh.take([op('fresh', MANY)], START),
    delete: store.delete([{ policy: 'p', key: 'deleted' }]),
    deleteAll: deleteAll(['q']),
    ...(locks.startsWith('LOCK') && {
      peek: store.take([op('window', windowed, 'peek')], START),
      list: list('p', op('a', MANY, 'peek').step)
        [Symbol.asyncIterator]()
        .next(),
    }),
  }
  const answers = await Promise.allSettled(Object.values(calls))
  const waiting = await pool.query("SELECT query FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
  await holder.query('ROLLBACK')
  holder.release()
  const failures = answers.map((answer) => (answer.status === 'rejected' ? String(answer.reason) : 'none'))
  expect(Object.fromEntries(Object.keys(calls).map((call, i) => [call, failures[i]]))).toEqual(
    Object.fromEntries(Object.keys(calls).map((call) => [call, expect.stringContaining('Another transaction holds')])),
  )
  expect(waiting.rows).toEqual([])
})

// Reproduces a bug: as above, for statements that have 30 s.
test('a migration and a sweep have a lock timeout', async () => {
  await take(unhurried(pool), 'a', START)
  await pool.query(`
    CREATE OR REPLACE FUNCTION spillway_version() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
    CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'deleted with a lock timeout of %', current_setting('lock_timeout'); END $$;
    CREATE TRIGGER seen BEFORE DELETE ON spillway FOR EACH ROW EXECUTE FUNCTION seen()`)
  const client = await pool.connect()
  const lent = { query: client.query.bind(client), on: client.on.bind(client), off: client.off.bind(client) }
  await client.query('BEGIN')
  await migrate({ connect: async () => ({ ...lent, release: () => {} }) } as PgPool)
  expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '100ms' }])
  await client.query('COMMIT')
  expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '0' }])
  client.release()
  await expect(sweep(pool)).rejects.toThrow('deleted with a lock timeout of 27s')
  await pool.query('DROP TRIGGER seen ON spillway')
})
