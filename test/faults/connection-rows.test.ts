import { perHour, type RateLimiter, rateLimiter, slidingWindow } from '@spillway/core'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Redis as Client } from 'ioredis'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startPostgres } from '../services/postgres.ts'
import { startProxy } from '../services/proxy.ts'
import { startRedis } from '../services/redis.ts'
import { until } from '../services/redis-cluster.ts'
import {
  CALLS,
  countOf,
  keepsBound,
  keepsQuota,
  LIMIT,
  load,
  patientOf,
  quota,
  remains,
  same,
  unharmed,
} from './load.ts'
import { addRow, printTable } from './table.ts'

// Faults of connections and commits that no error reports, and a deploy that changes how a policy is counted.

const after: (() => unknown)[] = []
afterEach(async () => {
  for (const each of after.splice(0).reverse()) await each()
})
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())
afterAll(printTable)

/** Calls beside a fault, which are counted locally; then those of the store, which has everything back. */
async function comesBack(limiter: RateLimiter, patient: RateLimiter, end: () => unknown = () => {}) {
  const startMs = performance.now()
  const { answers, p99 } = await load(limiter, same(CALLS))
  expect(answers.filter(({ byStore }) => byStore)).toEqual([])
  await end()
  await until(async () => !(await limiter.peek('another')).degraded)
  await remains(patient, LIMIT)
  const later = await load(patient, same(CALLS))
  const within = keepsBound(countOf(answers) + countOf(later.answers), startMs)
  return { requests: 2 * CALLS, ...within, lost: 0, ...unharmed, 'p99 added ms': p99 }
}

test('silent connection: a client with a timeout leaves it, and what it sends again is given back', async () => {
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  const client = new Client({ port: proxy.port, socketTimeout: 500, retryStrategy: () => 20 })
  after.push(
    () => server.stop(),
    () => proxy.stop(),
    () => client.disconnect(),
  )
  const store = redisStore(client, { denyCache: false })
  const [limiter, patient] = [rateLimiter({ quota, store, name: 'row' }), patientOf(store)]
  await patient.peek('a')
  proxy.silence()
  addRow({ server: 'Redis', fault: 'silent connection', ...(await comesBack(limiter, patient)) })
})

async function pooled(max: number) {
  const server = await startPostgres()
  const admin = new pg.Pool({ ...server.config, max: 1 })
  // Without a listener for errors: the store has its own.
  const pool = new pg.Pool({ ...server.config, max, application_name: 'limits' })
  after.push(
    () => server.stop(),
    () => admin.end(),
    () => pool.end(),
  )
  const store = postgresStore(pool)
  const [limiter, patient] = [rateLimiter({ quota, store, name: 'row' }), patientOf(store)]
  await patient.peek('a')
  return { admin, limiter, patient, pool }
}

test('hung commits: a lost synchronous standby leaves requests counted locally, and its sessions bounded', async () => {
  const { admin, limiter, patient } = await pooled(2)
  const standby = async (name: string): Promise<void> => {
    await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
    await admin.query('SELECT pg_reload_conf()')
  }
  await standby('lost')
  // Commits wait only once the server has read the setting, which no view shows.
  for (let i = 0; !(await limiter.consume(`ready ${i}`)).degraded; i++);
  const row = await comesBack(limiter, patient, async () => {
    const { rowCount } = await admin.query(`SELECT FROM pg_stat_activity WHERE application_name = 'limits'`)
    // Those of the pool, and four more.
    expect(rowCount).toBeLessThanOrEqual(6)
    await standby('')
  })
  addRow({ server: 'PostgreSQL', fault: 'hung commits', ...row })
})

test('terminated backends: each request is decided, and the process goes on without a listener of its own', async () => {
  const { admin, limiter, patient } = await pooled(4)
  const startMs = performance.now()
  const kill = (): Promise<unknown> =>
    admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'limits'`)
  let admitted = 0
  let p99 = ''
  for (let i = 0; i < 5; i++) {
    const killed: Promise<unknown>[] = []
    const loaded = await load(limiter, same(CALLS), () => killed.push(kill()))
    await Promise.all(killed)
    admitted += countOf(loaded.answers)
    p99 = loaded.p99
  }
  await until(async () => !(await limiter.peek('another')).degraded)
  const later = await load(patient, same(CALLS))
  addRow({
    server: 'PostgreSQL',
    fault: 'terminated backends',
    requests: 6 * CALLS,
    ...keepsBound(admitted + countOf(later.answers), startMs),
    ...unharmed,
    'p99 added ms': p99,
  })
})

test('changed algorithm: while a deploy runs, a bucket and a window of one rate admit one quota', async () => {
  const server = await startRedis()
  const [before, behind] = [perHour(LIMIT), slidingWindow({ limit: LIMIT, window: '1h' })].map((each) => {
    const client = new Client({ port: server.port })
    after.push(() => client.disconnect())
    const store = redisStore(client, { denyCache: false })
    return rateLimiter({ quota: each, store, deadline: '10s', onStoreError: 'throw', name: 'row' })
  }) as [RateLimiter, RateLimiter]
  after.unshift(() => server.stop())
  const startMs = performance.now()
  const loads = await Promise.all([before, behind, before, behind].map((limiter) => load(limiter, same(CALLS))))
  const later = await load(behind, same(CALLS))
  const admitted = [...loads, later].reduce((sum, { answers }) => sum + countOf(answers), 0)
  addRow({
    server: 'Redis',
    fault: 'changed algorithm in a rolling deploy',
    requests: 5 * CALLS,
    ...keepsQuota(admitted, startMs),
    lost: 0,
    ...unharmed,
    'p99 added ms': later.p99,
  })
})
