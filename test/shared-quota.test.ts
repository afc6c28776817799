import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type BucketTaken, type Store, sharedQuotaBounds } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { migrate, postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { build } from 'esbuild'
import { Redis as Client } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Postgres, startPostgres } from './services/postgres.ts'
import { type Redis, startRedis } from './services/redis.ts'
import { type Counts, KEY, NAME, quota, type Servers } from './shared-quota/work.ts'

const PROCESSES = 8
// A limit for what hangs: eight processes take long on a busy machine.
const PATIENCE_MS = 180_000

/** Bundles the program of a process: eight that each compile it take minutes on a busy machine. */
async function bundle(): Promise<string> {
  const file = fileURLToPath(new URL('node_modules/.cache/shared-quota.mjs', import.meta.url))
  const input = fileURLToPath(new URL('shared-quota/worker.ts', import.meta.url))
  await build({
    entryPoints: [input],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['ioredis', 'pg'],
  })
  return file
}

let servers: readonly [Redis, Postgres]
let workers: readonly ChildProcess[] = []
let stores: Record<keyof Servers, Store>
let disconnect: () => Promise<unknown>
beforeAll(async () => {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  servers = [redis, postgres]
  const [client, pool] = [new Client(redis.port), new pg.Pool({ ...postgres.config, max: 2 })]
  await migrate(pool)
  stores = { redis: redisStore(client), postgres: postgresStore(pool, { deadline: '25s' }) }
  disconnect = () => Promise.all([client.quit(), pool.end()])
  const file = await bundle()
  const argument = JSON.stringify({ redis: redis.port, postgres: postgres.config } satisfies Servers)
  workers = Array.from({ length: PROCESSES }, () => fork(file, [argument]))
  await Promise.all(workers.map(heard))
}, PATIENCE_MS)
afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL')
  await disconnect()
  await Promise.all(servers.map((server) => server.stop()))
})

/** The next message of a process. */
async function heard(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => expect.fail(`a process ended with ${code}`))
  ended.catch(() => {})
  return (await Promise.race([once(child, 'message'), ended]))[0]
}

/** What the store has in the bucket, by its own clock. */
async function look(store: Store): Promise<{ now: number; remaining: number }> {
  const step = stepFor(quota, 'peek', 1)
  const [{ now, base }] = (await store.take([{ policy: NAME, key: KEY, step }])) as [BucketTaken]
  return { now, remaining: quota.limit - (base - now) / quota.ticksPerUnit }
}

/** Lets the processes consume as fast as they can, and compares what they admit with what the bucket has had. */
async function share(name: keyof Servers) {
  const start = await look(stores[name])
  for (const worker of workers) worker.send(name)
  const counts = (await Promise.all(workers.map(heard))) as Counts[]
  const end = await look(stores[name])
  const sum = (name: keyof Counts): number => counts.reduce((total, each) => total + each[name], 0)
  const refilled = (end.now - start.now) / quota.ticksPerUnit
  return {
    consumed: quota.limit + refilled - end.remaining,
    seconds: (end.now - start.now) / 1e6,
    ...{ admitted: sum('admitted'), calls: sum('calls') },
  }
}

test.each(['redis', 'postgres'] as const)(
  'eight processes share a quota of %s',
  async (name) => {
    const { consumed, admitted, seconds, calls } = await share(name)
    const { held, callsPerSecond } = sharedQuotaBounds(quota, { processes: PROCESSES })
    // Nothing over: no process spends what the bucket has not given.
    expect(admitted).toBeLessThanOrEqual(consumed)
    // Little under: what the processes hold at the end, and what is not shared. Before that, they deny nothing.
    expect(consumed - admitted).toBeLessThanOrEqual(PROCESSES * held)
    expect(admitted).toBeGreaterThan(0.97 * quota.limit)
    // At first, each process asks for more and more, and then for one share of the burst after the other.
    expect(calls).toBeLessThan(callsPerSecond * seconds + PROCESSES * 12 + quota.limit / held)
  },
  PATIENCE_MS,
)
