import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { perHour, perMinute, type RateLimiter, rateLimiter, type Store } from '@spillway/core'
import { migrate, postgresStore } from '@spillway/postgres'
import { type RedisClient, redisStore } from '@spillway/redis'
import { Redis as Client, Cluster } from 'ioredis'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PROGRAM } from '../program.ts'
import { startPostgres } from '../services/postgres.ts'
import { startRedis } from '../services/redis.ts'
import { startRedisCluster, until } from '../services/redis-cluster.ts'
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

// Faults of a server's state, rights and clock, and of a process that holds a lease.

const after: (() => unknown)[] = []
afterEach(async () => {
  for (const each of after.splice(0).reverse()) await each()
})
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())
afterAll(printTable)

async function connectedRedis(settings: Readonly<Record<string, string | number>> = {}) {
  const server = await startRedis({ settings })
  const client = new Client({ port: server.port }).on('error', () => {})
  after.push(
    () => server.stop(),
    () => client.disconnect(),
  )
  return { port: server.port, client }
}

test('slot migration: two policies of a key whose slot is half moved keep the bound, and nothing stays taken', async () => {
  const cluster = await startRedisCluster()
  const client = new Cluster(cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })))
  client.on('error', () => {})
  after.push(
    () => cluster.stop(),
    () => client.disconnect(),
  )
  const store = redisStore(client as RedisClient, { denyCache: false })
  const quotas = { row: quota, day: perHour(1_000) }
  const limiter = rateLimiter({ quotas, store })
  const patient = rateLimiter({ quotas, store, deadline: '10s', onStoreError: 'throw' })
  const rowsOf = async (): Promise<number | undefined> => (await patient.peek('a')).policies?.[0]?.remaining
  const first = await patient.consume('a')
  const startMs = performance.now()
  const loads: Awaited<ReturnType<typeof load>>[] = []
  await cluster.move('spillway:1{a}row', async () => {
    loads.push(await load(limiter, same(CALLS)))
  })
  const answers = [first, ...loads.flatMap((each) => each.answers)]
  const byStore = countOf((loads[0]?.answers ?? []).filter((answer) => answer.byStore))
  await until(() =>
    rowsOf().then(
      (left) => left === LIMIT - 1 - byStore,
      () => false,
    ),
  )
  const later = await load(patient, same(CALLS))
  addRow({
    server: 'Redis Cluster',
    fault: 'slot migration, two policies',
    requests: 2 * CALLS,
    ...keepsBound(countOf(answers) + countOf(later.answers), startMs),
    lost: 0,
    ...unharmed,
    'p99 added ms': loads[0]?.p99,
  })
})

test('eviction: a limited key outlives a flood of fresh ones under volatile-ttl', async () => {
  const { client } = await connectedRedis({ 'maxmemory-policy': 'volatile-ttl' })
  const infoOf = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await client.info())?.[1])
  const limiter = patientOf(redisStore(client, { denyCache: false }))
  const startMs = performance.now()
  const before = await load(limiter, same(CALLS))
  await client.config('SET', 'maxmemory', (await infoOf('used_memory')) + 500_000)
  let fresh = 0
  while (fresh < 2 * (await client.dbsize()) || (await infoOf('evicted_keys')) < 1_000) {
    await Promise.all(Array.from({ length: 500 }, () => limiter.consume(`fresh ${fresh++}`)))
  }
  const { answers, p99 } = await load(limiter, same(CALLS))
  addRow({
    server: 'Redis',
    fault: 'eviction, volatile-ttl',
    requests: 2 * CALLS,
    ...keepsQuota(countOf(before.answers) + countOf(answers), startMs),
    lost: 0,
    ...unharmed,
    'p99 added ms': p99,
  })
})

test('herd at a low bucket with leases: what is left is admitted, and nothing beside it', async () => {
  const { client } = await connectedRedis()
  const store = redisStore(client, { denyCache: false, lease: { requests: LIMIT, maxLoss: '1h' } })
  const [limiter, patient] = [rateLimiter({ quota, store, name: 'row' }), patientOf(redisStore(client))]
  await patient.consume('a', LIMIT / 2 + 1)
  const startMs = performance.now()
  const { answers, p99 } = await load(limiter, same(10 * LIMIT))
  const byStore = countOf(answers.filter((answer) => answer.byStore))
  await store.release()
  await remains(patient, LIMIT / 2 - 1 - byStore)
  const later = await load(patient, same(CALLS))
  addRow({
    server: 'Redis',
    fault: 'herd at a low bucket, leases',
    requests: 10 * LIMIT + CALLS,
    ...keepsBound(LIMIT / 2 + 1 + countOf(answers) + countOf(later.answers), startMs),
    lost: 0,
    ...unharmed,
    'p99 added ms': p99,
  })
})

test('crash with a lease: a process that is killed loses no more than the lease that it holds', async () => {
  const { client, port } = await connectedRedis()
  const [limit, requests, most] = [864_000, 1_000, 50]
  // Ten units a second, of which a process may hold those of ten seconds, less the one that the lease was taken for.
  const leasing = { port, limit, lease: { requests: most, maxLoss: '10s' }, requests }
  const program = fileURLToPath(new URL('../../packages/redis/test/leasing.ts', import.meta.url))
  const startMs = performance.now()
  const child = fork(program, [JSON.stringify(leasing)], { execArgv: [...PROGRAM] })
  after.push(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  await Promise.race([once(child, 'message'), ended.then(() => expect.fail('it ended by itself'))])
  child.kill('SIGKILL')
  await ended
  const limiter = rateLimiter({
    ...{ name: 'p', quota: perHour(limit / 24, { burst: limit }) },
    ...{ store: redisStore(client), deadline: '10s', onStoreError: 'throw' as const },
  })
  const { remaining } = await limiter.peek('a')
  const refilled = Math.ceil(((performance.now() - startMs) * limit) / 86_400_000)
  expect(requests + remaining).toBeLessThanOrEqual(limit + refilled)
  const lost = Math.max(0, limit - requests - remaining)
  expect(lost).toBeLessThan(most)
  const { p99 } = await load(limiter, same(CALLS))
  addRow({
    server: 'Redis',
    fault: 'crash with a lease',
    requests,
    admitted: requests + remaining,
    bound: limit + refilled,
    lost,
    ...unharmed,
    'p99 added ms': p99,
  })
})

test('schema owner: a role without CREATE on the database migrates, and counts to the unit', async () => {
  const server = await startPostgres()
  const owner = new pg.Pool({ ...server.config, max: 1 }).on('error', () => {})
  const pool = new pg.Pool({ ...server.config, user: 'tenant', max: 4 }).on('error', () => {})
  after.push(
    () => server.stop(),
    () => owner.end(),
    () => pool.end(),
  )
  await owner.query('CREATE ROLE tenant LOGIN')
  await owner.query('CREATE SCHEMA owned AUTHORIZATION tenant')
  const options = { schema: 'owned', table: 'limits' }
  await migrate(pool, options)
  const limiter = patientOf(postgresStore(pool, { ...options, deadline: '10s' }))
  const startMs = performance.now()
  const { answers, p99 } = await load(limiter, same(CALLS))
  addRow({
    server: 'PostgreSQL',
    fault: 'schema-owner role',
    requests: CALLS,
    ...keepsQuota(countOf(answers), startMs),
    lost: 0,
    ...unharmed,
    'p99 added ms': p99,
  })
})

// The clock of one server cannot be set back beside others of its machine. So both servers are asked with the time that
// they would read, as the store's `at`, which is what the script uses instead of TIME.
test('a promoted replica whose clock is 5 s behind admits what refills, and those 5 s when its clock is set', async () => {
  const [master, replica] = [await connectedRedis(), await connectedRedis({ 'repl-diskless-sync-delay': 0 })]
  await replica.client.replicaof('127.0.0.1', master.port)
  await until(async () => (await replica.client.info('replication')).includes('master_link_status:up'))
  const BEHIND_MS = 5_000
  const readAt = (client: Client, behindMs: number): Store => {
    const store = redisStore(client, { denyCache: false })
    return { ...store, take: (ops, _at, deadline) => store.take(ops, (Date.now() - behindMs) * 1_000, deadline) }
  }
  const limit = 60
  const on = (client: Client, behindMs: number): RateLimiter =>
    rateLimiter({
      ...{ name: 'row', quota: perMinute(limit), store: readAt(client, behindMs) },
      ...{ deadline: '10s', onStoreError: 'throw' as const },
    })
  const startMs = performance.now()
  const before = await load(on(master.client, 0), same(2 * limit))
  await master.client.wait(1, 0)
  await replica.client.replicaof('NO', 'ONE')
  const behind = await load(on(replica.client, BEHIND_MS), same(2 * limit))
  const set = await load(on(replica.client, 0), same(2 * limit))
  const admitted = countOf([...before.answers, ...behind.answers, ...set.answers])
  const elapsedMs = performance.now() - startMs
  const refilled = Math.ceil(((elapsedMs + BEHIND_MS) * limit) / 60_000)
  expect(countOf(behind.answers)).toBeLessThanOrEqual(Math.ceil((elapsedMs * limit) / 60_000))
  expect(admitted).toBeGreaterThanOrEqual(limit)
  expect(admitted).toBeLessThanOrEqual(limit + refilled)
  addRow({
    server: 'Redis',
    fault: 'promoted replica 5 s behind',
    requests: 6 * limit,
    admitted,
    bound: limit + refilled,
    lost: 0,
    ...unharmed,
    'p99 added ms': behind.p99,
  })
})
