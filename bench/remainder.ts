// The cost of a bucket whose unit does not take whole microseconds, compared with one whose unit does.

import { perSecond, type Quota, rateLimiter, type Store } from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Redis as Ioredis } from 'ioredis'
import pg from 'pg'
import { startPostgres } from '../test/services/postgres.ts'
import { startRedis } from '../test/services/redis.ts'
import { type Candidate, callers, measure } from './measure.ts'
import { sink } from './rivals.ts'
import { type Case, type Row, scaled, type Table } from './table.ts'
import { type Workload, workloads } from './workloads.ts'

const RATIO = 'times whole microseconds'
const WHOLE = 'whole microseconds'
const REMAINDER = 'a remainder'

/** Quotas that deny nothing. 999,983 is prime, so that a unit takes 1 17/999,983 µs. */
const quotas = {
  [WHOLE]: perSecond(1_000_000, { burst: 1_000_000_000 }),
  [REMAINDER]: perSecond(999_983, { burst: 1_000_000_000 }),
}

interface Setting {
  readonly name: string
  readonly workload: Workload
  readonly run: (quota: Quota, name: string) => Candidate['run']
}

interface Terms {
  readonly where: string
  readonly how: string
  readonly atMost: number
  readonly unit: readonly [name: string, nanos: number]
  readonly seconds: number
  readonly chunk: number
}

/** Measures both buckets in each setting. */
async function pairs(settings: readonly Setting[], terms: Terms, progress: (share: number) => void): Promise<Table> {
  const { where, how, atMost, unit, seconds, chunk } = terms
  const rows: Row[] = []
  for (const [i, { name, workload, run }] of settings.entries()) {
    const [whole, remainder] = Object.entries(quotas).map(([kind, quota]) => {
      return { name: `${kind}, ${name}`, run: run(quota, kind) }
    }) as [Candidate, Candidate]
    const keys = workload.keys.slice(0, Math.max(4 * chunk, 10_000))
    const part = (share: number): void => progress((i + share) / settings.length)
    const results = await measure(whole, [remainder], keys, { seconds, chunk, progress: part })
    rows.push(...results.map(({ name, ratio, nanos }) => ({ name, figures: [ratio, scaled(nanos, 1 / unit[1])] })))
  }
  const targets = settings.map(({ name }) => {
    return { ours: `${REMAINDER}, ${name}`, theirs: `${WHOLE}, ${name}`, column: RATIO, atMost }
  })
  return { title: `A bucket with a remainder ${where}`, how, columns: [RATIO, unit[0]], rows, targets }
}

function synchronous(quota: Quota): Candidate['run'] {
  const limiter = rateLimiter({ quota, store: memoryStore({ maxKeys: 100_000 }) })
  return (keys, from, to) => {
    let seen = 0
    for (let i = from; i < to; i++) seen += limiter.consumeSync(keys[i] as string).remaining
    sink.seen += seen
  }
}

function concurrent(count: number, quota: Quota, store: Store): Candidate['run'] {
  const limiter = rateLimiter({ quota, store, deadline: '30s', onStoreError: 'throw' })
  return callers(count, (key) => limiter.consume(key))
}

const inMemory: Case = (progress) => {
  const setting = (workload: Workload): Setting => ({ name: workload.name, workload, run: synchronous })
  return pairs(
    [setting(workloads.hot()), setting(workloads.many())],
    {
      where: 'in memory',
      how: 'One process; both buckets alternate in turns of 10,000 decisions.',
      atMost: 1.25,
      unit: ['ns', 1],
      seconds: 3,
      chunk: 10_000,
    },
    progress,
  )
}

const inRedis: Case = async (progress) => {
  const server = await startRedis()
  const client = new Ioredis({ port: server.port })
  const setting = (count: number, coalesce: boolean): Setting => ({
    name: `${count} callers${coalesce ? '' : ', not batched'}`,
    workload: workloads.many(),
    run: (quota, kind) =>
      concurrent(count, quota, redisStore(client, { coalesce, prefix: `${coalesce}-${kind.length}` })),
  })
  const table = await pairs(
    [setting(500, true), setting(50, false)],
    {
      where: 'in Redis',
      how: 'One server and one process, which share two cores; 10,000 keys; both buckets alternate in turns of 4,000 decisions.',
      atMost: 1.1,
      unit: ['µs each', 1_000],
      seconds: 8,
      chunk: 4_000,
    },
    progress,
  )
  client.disconnect()
  await server.stop()
  return table
}

const inPostgres: Case = async (progress) => {
  const server = await startPostgres({ settings: { fsync: 'on', shared_buffers: '128MB', autovacuum: 'off' } })
  const pool = new pg.Pool({ ...server.config, max: 8 })
  const setting = (coalesce: boolean): Setting => ({
    name: coalesce ? '8 callers' : '8 callers, not batched',
    workload: workloads.many(),
    run: (quota, kind) => {
      const table = `bench_${coalesce}_${kind.length}`
      // Without waits for the disk, which both have.
      return concurrent(8, quota, postgresStore(pool, { table, coalesce, durability: 'async', deadline: '30s' }))
    },
  })
  const table = await pairs(
    [setting(true), setting(false)],
    {
      where: 'in PostgreSQL',
      how: 'One server that does not wait for its disk, and one process with 8 connections; 10,000 keys; both buckets alternate in turns of 640 decisions.',
      atMost: 1.1,
      unit: ['µs each', 1_000],
      seconds: 20,
      chunk: 640,
    },
    progress,
  )
  await pool.end()
  await server.stop()
  return table
}

/** The case of each part. */
export const remainder = { memory: inMemory, redis: inRedis, postgres: inPostgres }
