import { rateLimiter } from '@spillway/core'
import { postgresStore } from '@spillway/postgres'
import { type RedisClient, redisStore } from '@spillway/redis'
import { Redis as Client, Cluster } from 'ioredis'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startPostgres } from '../services/postgres.ts'
import { startProxy } from '../services/proxy.ts'
import { type Redis, startRedis } from '../services/redis.ts'
import { startRedisCluster } from '../services/redis-cluster.ts'
import { CALLS, countOf, keepsBound, LIMIT, load, patientOf, quota, remains, same, unharmed } from './load.ts'
import { boundOf } from './local.ts'
import { addRow, printTable } from './table.ts'

// Faults that a process, its pool or some of its shards cause, each with the default failure mode.

const after: (() => unknown)[] = []
afterEach(async () => {
  for (const each of after.splice(0).reverse()) await each()
})
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())
afterAll(printTable)

async function standaloneRedis() {
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  const client = new Client({ port: proxy.port, retryStrategy: () => 20 })
  client.on('error', () => {})
  after.push(
    () => server.stop(),
    () => proxy.stop(),
    () => client.disconnect(),
  )
  return { proxy, store: redisStore(client, { denyCache: false }) }
}

test('event-loop stall: calls in flight are counted by the store or locally, within the bound', async () => {
  const { store } = await standaloneRedis()
  const [limiter, patient] = [rateLimiter({ quota, store, name: 'row' }), patientOf(store)]
  await patient.peek('a')
  const startMs = performance.now()
  const { answers, p99 } = await load(limiter, same(CALLS), () => {
    const stallMs = performance.now()
    while (performance.now() - stallMs < 60);
  })
  const byStore = countOf(answers.filter((answer) => answer.byStore))
  const within = keepsBound(countOf(answers), startMs)
  // Timeouts on a busy machine are refunded.
  await remains(patient, LIMIT - byStore)
  addRow({
    server: 'Redis',
    fault: 'event-loop stall',
    requests: CALLS,
    ...within,
    lost: 0,
    ...unharmed,
    'p99 added ms': p99,
  })
})

test('timeouts beyond the threshold of the circuit: units of failed calls are refunded', async () => {
  const { proxy, store } = await standaloneRedis()
  const [limiter, patient] = [rateLimiter({ quota, store, name: 'row' }), patientOf(store)]
  await patient.peek('a')
  const startMs = performance.now()
  proxy.set('slow')
  const { answers, p99 } = await load(limiter, same(LIMIT))
  expect(answers.filter(({ byStore }) => byStore)).toEqual([])
  proxy.set('fair')
  await remains(patient, LIMIT)
  const later = await load(limiter, same(CALLS))
  const within = keepsBound(countOf(answers) + countOf(later.answers), startMs)
  addRow({
    server: 'Redis',
    fault: 'late answers beyond the threshold',
    requests: LIMIT + CALLS,
    ...within,
    lost: 0,
    ...unharmed,
    'p99 added ms': p99,
  })
})

test('partial outage: a cluster with one of three masters frozen counts every request to the others', async () => {
  const cluster = await startRedisCluster()
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const client = new Cluster(nodes, { slotsRefreshTimeout: 500 })
  client.on('error', () => {})
  after.push(
    () => cluster.stop(),
    () => client.disconnect(),
  )
  const store = redisStore(client as RedisClient, { denyCache: false })
  // A healthy master answers within two seconds on a busy machine, too.
  const [limiter, patient] = [rateLimiter({ quota, store, deadline: '2s', name: 'row' }), patientOf(store)]
  const keys = Array.from({ length: 30 }, (_, i) => `key ${i}`)
  const masters = await Promise.all(keys.map((key) => cluster.masterOf(`spillway:1{${key}}row`)))
  for (const key of keys) await patient.peek(key)
  const frozen = masters[0] as Redis
  const startMs = performance.now()
  frozen.signal('SIGSTOP')
  const { answers, p99 } = await load(limiter, Array.from({ length: LIMIT + 5 }, () => keys).flat()).finally(() =>
    frozen.signal('SIGCONT'),
  )
  const isHealthy = (key: string): boolean => masters[keys.indexOf(key)] !== frozen
  expect(answers.filter(({ key, byStore }) => isHealthy(key) !== byStore)).toEqual([])
  const admitted = keys.map((key) => countOf(answers.filter((answer) => answer.key === key)))
  const refilled = boundOf(performance.now() - startMs, LIMIT) / 2 - LIMIT
  expect(admitted.filter((each) => each < LIMIT || each > LIMIT + refilled)).toEqual([])
  addRow({
    server: 'Redis Cluster',
    fault: 'partial outage',
    requests: answers.length,
    admitted: Math.max(...admitted),
    bound: LIMIT + refilled,
    ...unharmed,
    'p99 added ms': p99,
  })
})

test('pool starvation: an app that holds both connections leaves its requests counted locally, and nothing taken', async () => {
  const server = await startPostgres()
  const pool = new pg.Pool({ ...server.config, max: 2 }).on('error', () => {})
  after.push(
    () => server.stop(),
    () => pool.end(),
  )
  const store = postgresStore(pool, { deadline: '10s' })
  const [limiter, patient] = [rateLimiter({ quota, store, name: 'row' }), patientOf(store)]
  await patient.peek('a')
  const startMs = performance.now()
  const held = await Promise.all([pool.connect(), pool.connect()])
  const { answers, p99 } = await load(limiter, same(CALLS))
  for (const connection of held) connection.release()
  expect(answers.filter(({ byStore }) => byStore)).toEqual([])
  await remains(patient, LIMIT)
  const later = await load(limiter, same(CALLS))
  const within = keepsBound(countOf(answers) + countOf(later.answers), startMs)
  addRow({
    server: 'PostgreSQL',
    fault: 'pool starvation',
    requests: 2 * CALLS,
    ...within,
    lost: 0,
    ...unharmed,
    'p99 added ms': p99,
  })
})
