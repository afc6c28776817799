import { PGlite } from '@electric-sql/pglite'
import { perDay, type RateLimiter, rateLimiter, type Store, storeHealth } from '@spillway/core'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { startProxy, type TcpProxy } from '../../../test/services/proxy.ts'
import { until } from '../../../test/services/redis-cluster.ts'
import { postgresStore } from '../src/index.ts'

// Timeouts need a real clock: a proxy holds replies back until the calls have failed, and a lock is held. Units that were
// taken for a failed call must be refunded, however long that takes.

let server: Postgres
let direct: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  direct = new pg.Pool({ ...server.config, max: 4 })
  await postgresStore(direct, { deadline: '20s' }).take([])
  await limiterOn(postgresStore(direct, { deadline: '20s' }), '20s').consume('warm')
})
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())
afterAll(async () => {
  await direct.end()
  await server.stop()
})

const limiterOn = (store: Store, deadline: number | '20s'): RateLimiter =>
  rateLimiter({ quota: perDay(100), store, deadline, onStoreError: 'throw' })
const left = async (limiter: RateLimiter, key: string): Promise<number> => (await limiter.peek(key)).remaining

describe.each([{ coalesce: true }, { coalesce: false }])('%o', (how) => {
  test.each([
    { of: 'the limiter', limiterDeadline: 500, storeDeadline: '20s' },
    { of: 'the store', limiterDeadline: '20s', storeDeadline: '2s' },
  ] as const)('refunds units if the server answers after the deadline of $of', async (deadlines) => {
    const proxy: TcpProxy = await startProxy(`${server.config.host}/.s.PGSQL.5432`)
    const pool = new pg.Pool({ ...server.config, host: '127.0.0.1', port: proxy.port, max: 4 })
    pool.on('error', () => {})
    const [patient, key] = [
      limiterOn(postgresStore(direct, { deadline: '20s' }), '20s'),
      `late ${how.coalesce} ${deadlines.of}`,
    ]
    const store = postgresStore(pool, { ...how, deadline: deadlines.storeDeadline })
    await limiterOn(store, '20s').consume(key)
    proxy.set('held')
    const hurried = limiterOn(store, deadlines.limiterDeadline)
    const calls = await Promise.allSettled([1, 2, 3].map(() => hurried.consume(key)))
    expect(calls.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    // The server has taken units, and its replies are held back.
    await until(async () => (await left(patient, key)) < 99)
    proxy.set('fair')
    await until(async () => (await left(patient, key)) === 99)
    await pool.end()
    await proxy.stop()
  })

  // Reproduces a bug: the second call for a key failed, and its unit was taken later.
  test('does not send a call that has expired while it waited for a key', async () => {
    const key = `waits ${how.coalesce}`
    const store = postgresStore(direct, { ...how, deadline: '20s' })
    const patient = limiterOn(store, '20s')
    await patient.consume(key)
    const holder = await direct.connect()
    await holder.query('BEGIN')
    await holder.query('SELECT * FROM spillway WHERE name LIKE $1 FOR UPDATE', [`%/${key}`])
    const first = limiterOn(store, 400)
      .consume(key)
      .catch((error: Error) => error)
    await new Promise((resolve) => setImmediate(resolve))
    const second = limiterOn(store, 200)
      .consume(key)
      .catch((error: Error) => error)
    expect([await first, await second].every((each) => each instanceof Error)).toBe(true)
    await holder.query('ROLLBACK')
    holder.release()
    await until(async () => (await left(patient, key)) === 99)
  })
})

// Reproduces a bug: the units were taken after the call had failed.
test('refunds units that a PGlite takes after a transaction ends', async () => {
  const database = await PGlite.create()
  const store = postgresStore(database, { deadline: '20s' })
  const patient = limiterOn(store, '20s')
  await patient.consume('a')
  let late: Promise<unknown> | undefined
  await database.transaction(async () => {
    late = limiterOn(store, 50).consume('a')
    await expect(late).rejects.toMatchObject({ reason: 'timeout' })
  })
  await until(async () => (await left(patient, 'a')) === 99)
  await database.close()
  // A busy machine needs half a minute to start one.
}, 120_000)

test('a pool whose connections are all in use is named as the reason', async () => {
  const pool = new pg.Pool({ ...server.config, max: 1 })
  const store = postgresStore(pool, { deadline: '20s' })
  await limiterOn(store, '20s').consume('busy')
  const client = await pool.connect()
  const warn = vi.fn()
  // With a name of its own: a second limiter without a name on this store is warned of, too.
  const limiter = rateLimiter({ name: 'starved', quota: perDay(100), store, deadline: 500, logger: { warn } })
  const { degraded } = await limiter.consume('busy')
  expect(degraded).toEqual({ reason: 'pool', action: 'local' })
  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('1 of 1 are in use, and 1 requests wait'))
  // Another key: a call for the same one waits for the first, which is not over yet.
  await expect(limiterOn(store, 500).consume('other')).rejects.toThrow('1 of 1 are in use')
  client.release()
  await pool.end()
})

// Reproduces a bug: such a refund was neither sent again nor counted as dropped.
test('a refund that got no connection is sent when the store answers again', async () => {
  const pool = new pg.Pool({ ...server.config, max: 1 })
  const [store, patient] = [
    postgresStore(pool, { deadline: '20s' }),
    limiterOn(postgresStore(direct, { deadline: '20s' }), '20s'),
  ]
  await limiterOn(store, '20s').peek('another')
  // Long enough for a call on a connection that is open, on a busy machine.
  const reservation = await limiterOn(store, 1_000).reserve('starved', { cost: 40 })
  const client = await pool.connect()
  await expect(reservation.cancel()).rejects.toMatchObject({ reason: 'pool' })
  expect(storeHealth(store)).toMatchObject({ refundsQueued: 1, refundsDropped: 0 })
  expect(await left(patient, 'starved')).toBe(60)
  client.release()
  await limiterOn(store, '20s').peek('another')
  await until(async () => (await left(patient, 'starved')) === 100)
  expect(storeHealth(store)).toMatchObject({ refundsQueued: 0, refundsDropped: 0 })
  await pool.end()
})

// Reproduces a bug: the late version was read as the answer to the call, and the rejection was unhandled.
test('a late answer to the first statement of a store is not one to its call', async () => {
  const proxy: TcpProxy = await startProxy(`${server.config.host}/.s.PGSQL.5432`)
  const pool = new pg.Pool({ ...server.config, host: '127.0.0.1', port: proxy.port, max: 1 })
  pool.on('error', () => {})
  await pool.query('SELECT 1')
  proxy.set('held')
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  const limiter = limiterOn(postgresStore(pool, { deadline: 800 }), '20s')
  const failed = [limiter.consume('first')]
  await until(() => Promise.resolve(pool.idleCount === 0))
  // It waits for the same statement, and longer.
  failed.push(limiter.consume('second'))
  for (const each of await Promise.allSettled(failed)) expect(each).toMatchObject({ reason: { reason: 'timeout' } })
  proxy.set('fair')
  await until(() => Promise.resolve(pool.idleCount === pool.totalCount))
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
  await pool.end()
  await proxy.stop()
})

test('rejects a single connection with the reason', () => {
  expect(() => postgresStore(new pg.Client() as never)).toThrow('got a Client, which is one connection')
})
