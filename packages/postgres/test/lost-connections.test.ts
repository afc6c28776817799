import type { Store } from '@spillway/core'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startProxy, type TcpProxy } from '../../../test/services/proxy.ts'
import { until } from '../../../test/services/redis-cluster.ts'
import { pool as admin, server, take } from './database.ts'
import { unhurried } from './unhurried.ts'

// A connection that breaks emits `error`. Without a listener, that ends the process. These pools have none of the app's.

const uncaught: unknown[] = []
let proxy: TcpProxy
let pool: pg.Pool
let store: Store
beforeEach(async () => {
  uncaught.length = 0
  process.setUncaughtExceptionCaptureCallback((error) => void uncaught.push(error))
  proxy = await startProxy(`${server.config.host}/.s.PGSQL.5432`)
  pool = new pg.Pool({ ...server.config, host: '127.0.0.1', port: proxy.port, application_name: 'lost' })
  store = unhurried(pool)
  await take(unhurried(admin), 'ready')
})
afterEach(async () => {
  await pool.end()
  await proxy.stop()
  process.setUncaughtExceptionCaptureCallback(null)
})

const sessions = `FROM pg_stat_activity WHERE application_name = 'lost'`
const counted = async (): Promise<number> => (await admin.query(`SELECT ${sessions}`)).rowCount ?? 0
const terminate = async (): Promise<void> => {
  await admin.query(`SELECT pg_terminate_backend(pid) ${sessions}`)
  await until(async () => (await counted()) === 0)
}

describe('a session that the server ends does not end the process', () => {
  // Reproduces a bug: a restart of the server ended each process that ran the sample of the README.
  test('while its connection is idle', async () => {
    await take(store, 'idle')
    await terminate()
    await until(async () => pool.totalCount === 0)
    expect(uncaught).toEqual([])
    expect(await take(store, 'idle')).toMatchObject([{ allowed: true }])
  })

  // Reproduces a bug: the listener was attached microtasks after the pool had lent the connection.
  test('while its connection opens, and the end is in one packet with what opens it', async () => {
    proxy.set('held')
    const taken = take(store, 'opens').catch((error: unknown) => error)
    await until(async () => (await counted()) === 1)
    await terminate()
    proxy.set('fair')
    await taken
    expect(uncaught).toEqual([])
    expect(await take(store, 'opens')).toMatchObject([{ allowed: true }])
  })

  test('after a statement, and the end is in one packet with the answer', async () => {
    const tat = async () => (await admin.query(`SELECT tat FROM spillway WHERE name = 'p/answered'`)).rows[0].tat
    await take(store, 'answered')
    const first = await tat()
    proxy.set('held')
    const taken = take(store, 'answered')
    await until(async () => (await tat()) !== first)
    await terminate()
    proxy.set('fair')
    expect(await taken).toMatchObject([{ allowed: true }])
    await until(async () => pool.totalCount === 0)
    expect(uncaught).toEqual([])
    expect(await take(store, 'answered')).toMatchObject([{ allowed: true }])
  })

  test('many stores on one pool add two listeners', async () => {
    for (let i = 0; i < 20; i++) await take(unhurried(pool, { table: `of_${i % 3}` }), 'a')
    expect([pool.listenerCount('error'), pool.listenerCount('connect')]).toEqual([1, 1])
  })
})
