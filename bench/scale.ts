// The cost of a decision by number of keys, policies and nodes.

import { perSecond, rateLimiter } from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import { redisStore } from '@spillway/redis'
import { Cluster } from 'ioredis'
import { RateLimiterMemory, RateLimiterUnion } from 'rate-limiter-flexible'
import { startRedisCluster } from '../test/services/redis-cluster.ts'
import { type Candidate, measure } from './measure.ts'
import { AMPLE, candidate, type Rival, sink } from './rivals.ts'
import { type Case, type Figure, type Row, scaled, type Table } from './table.ts'

const [OURS, BY_HAND]: Rival[] = ['spillway consumeSync', 'Map of buckets, hand-written']
const THEIRS: Rival = 'express-rate-limit, its store'

const LENGTH = 200_000
const address = (n: number): string =>
  Buffer.from(`${10 + (n >> 24)}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`, 'latin1').toString('latin1')

/** All keys in an order that CPU caches cannot predict. */
function keysOf(count: number): string[] {
  const all = Array.from({ length: count }, (_, i) => address(i))
  return Array.from({ length: Math.max(count, LENGTH) }, (_, i) => all[(i * 7_919) % count] as string)
}

const figures = (results: Awaited<ReturnType<typeof measure>>, names: readonly string[]): (Figure | null)[] =>
  names.map((name) => results.find((each) => each.name === name)?.nanos ?? null)

async function keys(progress: (share: number) => void): Promise<Table> {
  const counts = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]
  const names = [OURS, BY_HAND, THEIRS] as const
  const rows: Row[] = []
  for (const count of counts) {
    const terms = { ...AMPLE, maxKeys: Math.max(count, 100_000) }
    const [reference, ...others] = [BY_HAND, OURS, THEIRS].map((name) => candidate(name as Rival, terms))
    const options = { seconds: 6, progress: () => {} }
    const results = await measure(reference as Candidate, others, keysOf(count), options)
    rows.push({ name: count.toLocaleString('en'), figures: figures(results, names as readonly string[]) })
    progress(rows.length / counts.length)
  }
  return {
    title: 'A decision in memory, by the number of keys',
    how: 'All keys are used equally often, in an order that differs from that in memory; nanoseconds, in turns of 10,000 decisions.',
    columns: names.map((name) => `${name}, ns`),
    rows,
    targets: [],
  }
}

function unionOf(count: number): Candidate['run'] {
  const terms = { points: AMPLE.burst, duration: 3600 }
  const limiters = Array.from({ length: count }, (_, i) => new RateLimiterMemory({ ...terms, keyPrefix: `p${i}` }))
  const union = count === 1 ? (limiters[0] as RateLimiterMemory) : new RateLimiterUnion(...limiters)
  return async (keys, from, to) => {
    for (let i = from; i < to; i++) await union.consume(keys[i] as string)
  }
}

function severalOf(count: number): Candidate['run'] {
  const quotas = Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`p${i}`, perSecond(AMPLE.limit, { burst: AMPLE.burst })]),
  )
  const limiter = rateLimiter({ quotas, store: memoryStore() })
  return (keys, from, to) => {
    let seen = 0
    for (let i = from; i < to; i++) seen += limiter.consumeSync(keys[i] as string).remaining
    sink.seen += seen
  }
}

async function policies(progress: (share: number) => void): Promise<Table> {
  const [ours, theirs] = ['spillway consumeSync', 'rate-limiter-flexible, a union']
  const counts = [1, 2, 3, 4, 5, 6, 7, 8]
  const keys = keysOf(10_000)
  const rows: Row[] = []
  for (const count of counts) {
    const options = { seconds: 6, progress: () => {} }
    const others = [{ name: ours, run: severalOf(count) }]
    const results = await measure({ name: theirs, run: unionOf(count) }, others, keys, options)
    rows.push({ name: String(count), figures: figures(results, [ours, theirs]) })
    progress(rows.length / counts.length)
  }
  return {
    title: 'A decision in memory, by the number of policies',
    how: '10,000 keys, each counted by all policies at once; nanoseconds, in turns of 10,000 decisions. Spillway consumes all or nothing; a union also consumes when it denies.',
    columns: [`${ours}, ns`, `${theirs}, ns`],
    rows,
    targets: [],
  }
}

/** Fifty concurrent callers. Each sends its next call after a result. */
const CALLERS = 50

async function microsWith(masters: number): Promise<Figure> {
  const cluster = await startRedisCluster({ masters })
  const client = new Cluster([{ host: '127.0.0.1', port: (cluster.nodes[0] as { port: number }).port }])
  const limiter = rateLimiter({
    quota: perSecond(AMPLE.limit, { burst: AMPLE.burst }),
    store: redisStore(client),
    deadline: '10s',
  })
  const run: Candidate['run'] = async (keys, from, to) => {
    let next = from
    const call = async (): Promise<void> => {
      while (next < to) await limiter.consume(keys[next++] as string)
    }
    await Promise.all(Array.from({ length: CALLERS }, call))
  }
  const candidate = { name: 'spillway', run }
  const [result] = await measure(candidate, [candidate], keysOf(10_000).slice(0, 40_000), {
    seconds: 10,
    progress: () => {},
  })
  client.disconnect()
  await cluster.stop()
  return scaled((result as NonNullable<typeof result>).nanos, 1 / 1_000)
}

async function nodes(progress: (share: number) => void): Promise<Table> {
  const rows: Row[] = []
  for (const masters of [1, 2, 3, 4, 5, 6]) {
    rows.push({ name: String(masters), figures: [await microsWith(masters)] })
    progress(rows.length / 6)
  }
  return {
    title: 'A decision in Redis Cluster, by the number of nodes',
    how: 'Fifty callers in one process, 10,000 keys; microseconds each. All nodes and the process share the cores of this machine, so more nodes add no power here: the figures show the cost of keys in several shards.',
    columns: ['spillway, µs'],
    rows,
    targets: [],
  }
}

export const processes = 1
export const execArgv: readonly string[] = ['--max-old-space-size=8192']

export const cases: Readonly<Record<string, Case>> = { keys, policies, nodes }
