import { perDay, type RateLimiter, rateLimiter, type Store, storeHealth } from '@spillway/core'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { startProxy } from '../../../test/services/proxy.ts'
import { until } from '../../../test/services/redis-cluster.ts'
import { type PgPool, postgresStore } from '../src/index.ts'
import { server } from './database.ts'

// The pool returns no connection: no statement has been sent.

const limiterOn = (store: Store, logger: { warn(message: string): void } = { warn() {} }): RateLimiter =>
  rateLimiter({ quota: perDay(100), store, deadline: '20s', onStoreError: 'throw', logger })

/** A pool with one connection, opened before it has a timeout, which is short: opening one takes longer on a slow machine. */
async function timing(config: pg.PoolConfig): Promise<pg.Pool> {
  const pool = new pg.Pool({ ...config, max: 1 }).on('error', () => {})
  await pool.query('SELECT 1')
  Object.assign(pool.options, { connectionTimeoutMillis: 100 })
  return pool
}

// Reproduces a bug: the reason was 'error', and the refund was dropped.
test('a pool that waits for a free connection for its own timeout is named as the reason, and refunds are kept', async () => {
  const pool = await timing(server.config)
  const store = postgresStore(pool, { deadline: '20s' })
  const limiter = limiterOn(store)
  const reservation = await limiter.reserve('a', { cost: 40 })
  const client = await pool.connect()
  await expect(limiter.consume('a')).rejects.toMatchObject({
    reason: 'pool',
    message: expect.stringContaining(
      'nothing was sent, as no connection of the pool became free: 1 of 1 are in use, and 0 requests wait',
    ),
  })
  await expect(reservation.cancel()).rejects.toMatchObject({ reason: 'pool' })
  expect(storeHealth(store)).toEqual({ circuit: 'closed', refundsQueued: 1, refundsDropped: 0 })
  client.release()
  Object.assign(pool.options, { connectionTimeoutMillis: 0 })
  await limiter.peek('another')
  await until(async () => (await limiter.peek('a')).remaining === 100)
  expect(storeHealth(store)).toEqual({ circuit: 'closed', refundsQueued: 0, refundsDropped: 0 })
  await pool.end()
})

// Reproduces a bug: as above.
test('so is a pool that opens a connection for its own timeout', async () => {
  const proxy = await startProxy(`${server.config.host}/.s.PGSQL.5432`)
  const pool = await timing({ ...server.config, host: '127.0.0.1', port: proxy.port })
  const store = postgresStore(pool, { deadline: '20s' })
  const limiter = limiterOn(store)
  const reservation = await limiter.reserve('b', { cost: 40 })
  proxy.set('reset')
  await until(async () => pool.totalCount === 0)
  proxy.set('held')
  await expect(reservation.cancel()).rejects.toMatchObject({
    reason: 'pool',
    message: expect.stringContaining('nothing was sent, as no connection of the pool was opened in time'),
  })
  expect(storeHealth(store)).toEqual({ circuit: 'closed', refundsQueued: 1, refundsDropped: 0 })
  proxy.set('fair')
  Object.assign(pool.options, { connectionTimeoutMillis: 0 })
  await limiter.peek('another')
  await until(async () => (await limiter.peek('b')).remaining === 100)
  await pool.end()
  await proxy.stop()
})

test('a server that refuses connections is an error, and opens the circuit', async () => {
  const proxy = await startProxy(`${server.config.host}/.s.PGSQL.5432`)
  const config = { ...server.config, host: '127.0.0.1', port: proxy.port }
  const pool = new pg.Pool({ ...config, max: 1 }).on('error', () => {})
  const store = postgresStore(pool, { deadline: '20s' })
  const warn = vi.fn()
  const limiter = limiterOn(store, { warn })
  const reservation = await limiter.reserve('c', { cost: 40 })
  const other = await limiter.reserve('refused', { cost: 40 })
  await proxy.stop()
  await until(async () => pool.totalCount === 0)
  // Reproduces a bug: this refund, which was not sent, was dropped.
  await expect(other.cancel()).rejects.toMatchObject({ reason: 'error', cause: { code: 'ECONNREFUSED' } })
  for (let i = 0; i < 4; i++) {
    await expect(limiter.consume('c')).rejects.toMatchObject({ reason: 'error', cause: { code: 'ECONNREFUSED' } })
  }
  await expect(reservation.cancel()).rejects.toMatchObject({ reason: 'open' })
  expect(storeHealth(store)).toEqual({ circuit: 'open', refundsQueued: 2, refundsDropped: 0 })
  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('PostgreSQL failed: connect ECONNREFUSED'))
  await pool.end()
})

// Reproduces a bug: each call got the same connection again, and failed.
test('a connection in an aborted transaction of the app is closed, and the next call has another', async () => {
  const pool = new pg.Pool({ ...server.config, max: 1 })
  const limiter = limiterOn(postgresStore(pool, { deadline: '20s' }))
  await limiter.consume('d')
  const client = await pool.connect()
  await client.query('BEGIN')
  await expect(client.query('SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' })
  client.release()
  await expect(limiter.consume('d')).rejects.toMatchObject({ cause: { code: '25P02' } })
  expect(await limiter.consume('d')).toMatchObject({ allowed: true, remaining: 98 })
  await pool.end()
})

// Reproduces a bug: the connection was never released.
test('a query that throws at once, such as of faulty instrumentation, releases its connection', async () => {
  const pool = new pg.Pool({ ...server.config, max: 1 })
  let isFaulty = false
  const faulty: PgPool = {
    async connect() {
      const client = await pool.connect()
      return {
        query: (query) => {
          if (isFaulty) throw new Error('no span')
          return client.query(query as pg.QueryConfig)
        },
        release: (destroy) => client.release(destroy),
        on: (event, listener) => client.on(event, listener),
        off: (event, listener) => client.off(event, listener),
      }
    },
  }
  const limiter = limiterOn(postgresStore(faulty, { deadline: '20s' }))
  await limiter.consume('e')
  isFaulty = true
  await expect(limiter.consume('e')).rejects.toThrow('no span')
  isFaulty = false
  expect(await limiter.consume('e')).toMatchObject({ allowed: true, remaining: 98 })
  expect([pool.totalCount, pool.idleCount]).toEqual([1, 1])
  await pool.end()
})
