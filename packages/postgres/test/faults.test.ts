import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { START } from '@spillway/conformance'
import {
  type BucketTaken,
  type Duration,
  perDay,
  perMinute,
  type Quota,
  type Store,
  StoreError,
  slidingWindow,
  type Taken,
} from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startPgBouncer } from '../../../test/services/pgbouncer.ts'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { postgresStore } from '../src/index.ts'
import { unhurried } from './unhurried.ts'

let server: Postgres
let pool: pg.Pool
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
function newPool(max: number, config: pg.PoolConfig = server.config): pg.Pool {
  return new pg.Pool({ ...config, max }).on('error', () => {})
}

const MANY = perDay(10_000)
const take = (store: Store, key: string, at?: number, quota: Quota = MANY): Promise<readonly Taken[]> =>
  store.take([{ policy: 'p', key, step: stepFor(quota, 'consume', 1) }], at)

/** The number of units taken of a key whose calls were all at START. */
async function unitsOf(key: string, table = 'spillway'): Promise<number> {
  const { rows } = await pool.query(`SELECT tat FROM ${table} WHERE name = $1`, [`p/${key}`])
  return (Number(rows[0].tat) - START) / MANY.ticksPerUnit
}

/** Takes as fast as possible until a failure. Returns how many takes were answered, and how many were sent. */
async function untilItFails(store: Store, key: string): Promise<{ answered: number; asked: number }> {
  for (let answered = 0; ; answered++) {
    try {
      await take(store, key, START)
    } catch (error) {
      expect(error).toBeInstanceOf(StoreError)
      return { answered, asked: answered + 1 }
    }
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

describe('a server that is killed and restarted', () => {
  test.each([{ coalesce: true }, { coalesce: false }])('has lost no answered unit, %o', async (options) => {
    const stores = Array.from({ length: 4 }, () => unhurried(pool, options))
    const loops = stores.map((store) => untilItFails(store, 'a'))
    while (
      (await pool.query('SELECT 1 FROM spillway WHERE tat > $1', [START + 200 * MANY.ticksPerUnit])).rowCount === 0
    );
    await server.kill()
    const counts = await Promise.all(loops)
    await server.start()
    const units = await unitsOf('a')
    expect(units).toBeGreaterThanOrEqual(sum(counts.map(({ answered }) => answered)))
    expect(units).toBeLessThanOrEqual(sum(counts.map(({ asked }) => asked)))
    // The same stores continue on the same pool.
    for (const store of stores) expect((await take(store, 'a', START))[0]?.allowed).toBe(true)
  })

  test('has lost every state of an unlogged table, and continues', async () => {
    const store = unhurried(pool, { table: 'fast', durability: 'unlogged' })
    await take(store, 'a', START)
    await server.kill()
    await server.start()
    expect((await pool.query('SELECT count(*) FROM fast')).rows).toEqual([{ count: '0' }])
    expect((await take(store, 'a', START))[0]?.allowed).toBe(true)
  })
})

describe('a statement whose session is closed', () => {
  test('by the server, takes nothing and holds nothing', async () => {
    const store = unhurried(pool)
    await take(store, 'a', START)
    const holder = await holding('a')
    const lost = take(unhurried(pool), 'a', START).catch((error) => error)
    await untilSomebodyWaits()
    await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
    expect(await lost).toBeInstanceOf(StoreError)
    await holder.release()
    await take(store, 'a', START)
    expect(await unitsOf('a')).toBe(2)
  })

  test('by the death of the client, takes once at most and holds nothing', async () => {
    const store = unhurried(pool)
    await take(store, 'a', START)
    const holder = await holding('a')
    const file = fileURLToPath(new URL('dying.ts', import.meta.url))
    const client = fork(file, [JSON.stringify(server.config)], { execArgv: ['--import', 'tsx'] })
    await untilSomebodyWaits()
    client.kill('SIGKILL')
    await once(client, 'exit')
    await holder.release()
    await take(store, 'a', START)
    // The server detects the closed connection when it sends its reply.
    const others = `SELECT FROM pg_stat_activity WHERE query LIKE '%spillway_take%' AND state = 'active' AND pid <> pg_backend_pid()`
    while ((await pool.query(others)).rowCount !== 0);
    expect([2, 3]).toContain(await unitsOf('a'))
  })
})

/** Locks a key's row until released, like a transaction of another session. */
async function holding(key: string): Promise<{ release(): Promise<void> }> {
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

async function untilSomebodyWaits(): Promise<void> {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
  while ((await pool.query(waiting)).rowCount === 0);
}

const pidOf = async (from: pg.Pool): Promise<number> => (await from.query('SELECT pg_backend_pid() AS pid')).rows[0].pid

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

/** Makes the next writes fail, like engines that abort conflicting transactions instead of blocking them. */
async function failing(times: number, code: string, message = 'injected'): Promise<void> {
  await pool.query(`
    DROP SEQUENCE IF EXISTS failures; CREATE SEQUENCE failures;
    CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('failures') <= ${times} THEN RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = '${message}'; END IF;
      RETURN NEW;
    END $$;
    DROP TRIGGER IF EXISTS fail ON spillway;
    CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON spillway FOR EACH ROW EXECUTE FUNCTION fail()`)
}

describe('retryable errors are retried internally', () => {
  test.each([
    ['40001', 'could not serialize access due to concurrent update'],
    ['40P01', 'deadlock detected'],
    ['40003', 'result is ambiguous'],
    ['XX000', 'Query error: Restart read required'],
    ['XX000', 'Operation expired: Transaction aborted: kAborted'],
  ])('%s: %s', async (code, message) => {
    const one = newPool(1)
    const pid = await pidOf(one)
    await failing(5, code, message)
    const answers = await Promise.all(Array.from({ length: 20 }, () => take(unhurried(one), 'a', START)))
    expect(answers.every(([taken]) => taken?.allowed)).toBe(true)
    expect(await unitsOf('a')).toBe(20)
    expect(await pidOf(one)).toBe(pid)
    await one.end()
  })

  // Reproduces a bug: a pooler or a server in another language closes a connection with a severity other than "FATAL";
  // class 57P is the same in all. Such a connection was used again.
  test.each([
    ['57P01', false],
    ['23514', true],
  ])('after %s, the connection is used again: %s', async (code, again) => {
    const one = newPool(1)
    const pid = await pidOf(one)
    await failing(1, code, 'terminating connection')
    await expect(take(unhurried(one), 'a', START)).rejects.toThrow(code)
    expect((await pidOf(one)) === pid).toBe(again)
    await one.end()
  })

  test('and the connection keeps no listeners', async () => {
    const one = newPool(1)
    const listeners = async (): Promise<number> => {
      const client = await one.connect()
      client.release()
      return client.listenerCount('error')
    }
    const before = await listeners()
    await failing(5, '40001')
    await take(unhurried(one), 'a', START)
    expect(await listeners()).toBe(before)
    await one.end()
  })

  test('and other errors are not', async () => {
    await failing(1, 'XX000', 'cache lookup failed')
    await expect(take(unhurried(pool), 'a', START)).rejects.toThrow('cache lookup failed (XX000)')
  })
})

// Needs real time: PgBouncer counts how long a query waits in whole seconds.
test('a connection that PgBouncer closes because all its server connections are in use is not reused', async () => {
  const bouncer = await startPgBouncer(server, 1, 'query_wait_timeout = 1')
  const broken: Error[] = []
  const behind = new pg.Pool({ ...bouncer.config, max: 2 }).on('error', (error) => broken.push(error))
  const store = unhurried(behind)
  await take(store, 'a', START)
  const holder = await behind.connect()
  await holder.query('BEGIN')
  await expect(take(store, 'a', START)).rejects.toThrow('query_wait_timeout (08P01)')
  expect([behind.totalCount, behind.idleCount]).toEqual([1, 0])
  await holder.query('ROLLBACK')
  holder.release()
  expect((await take(store, 'a', START))[0]?.allowed).toBe(true)
  await behind.end()
  await bouncer.stop()
  expect(broken).toEqual([])
})

// Row 36 of the peers' bugs: a prepared statement of that name exists already, in a session that is shared.
test('works behind PgBouncer with transaction pooling', async () => {
  const bouncer = await startPgBouncer(server, 2)
  const behind = Array.from({ length: 8 }, () => newPool(2, bouncer.config))
  const stores = behind.map((each, i) => unhurried(each, { coalesce: i % 2 === 0 }))
  const answers = await Promise.all(
    Array.from({ length: 400 }, (_, i) => take(stores[i % 8] as Store, 'hot', START, perMinute(100))),
  )
  expect(answers.filter(([taken]) => (taken as BucketTaken).allowed).length).toBe(100)
  await Promise.all(behind.map((each) => each.end()))
  await bouncer.stop()
})
