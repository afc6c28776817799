// The cost of a decision in Redis, compared with rivals, and the number of commands.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { perMinute } from '@spillway/core'
import type { Redis as Ioredis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { type Candidate, callers, measureInPairs } from './measure.ts'
import {
  AMPLE,
  type Ask,
  BY_HAND,
  EXPRESS,
  type Field,
  FLEXIBLE,
  FLEXIBLE_TOO,
  field,
  OURS,
  OURS_TOO,
} from './redis-field.ts'
import { remainder } from './remainder.ts'
import { SERVER_MICROS, spent } from './spent.ts'
import { type Case, exactly, type Figure, scaled, type Table, type Target } from './table.ts'
import { addressOf, workloads } from './workloads.ts'

const RATIO = 'times rate-limiter-flexible'
const MICROS = 'µs each'

/** The script alone, sent by redis-benchmark: the cost with a client that costs little. */
async function byBenchmark({ server, admin, limiter }: Field, count: number): Promise<Candidate> {
  let sha = ''
  let args: string[] = []
  const monitor = await admin.monitor()
  monitor.on('monitor', (_: string, [name, ...rest]: string[]) => {
    if (name?.toLowerCase() === 'evalsha') [sha = '', , , ...args] = rest
  })
  await limiter(AMPLE, { prefix: 'tool' }).consume('warm')
  await admin.ping()
  monitor.disconnect()
  return {
    name: 'redis-benchmark, the same script',
    run: async (_, from, to) => {
      const flags = ['-p', String(server.port), '-c', String(count), '-n', String(to - from), '-r', '10000', '-q']
      const key = 'tool:1{user-__rand_int__}'
      const tool = spawn('redis-benchmark', [...flags, 'EVALSHA', sha, '1', key, ...args], { stdio: 'ignore' })
      const [code] = await once(tool, 'exit')
      if (code !== 0) throw new Error(`redis-benchmark ended with ${code}`)
    },
  }
}

async function decisions(
  title: string,
  workload: keyof typeof workloads,
  count: number,
  targets: readonly Target[],
  progress: (share: number) => void,
): Promise<Table> {
  const all = await field()
  const [reference, ...others] = Object.entries(all.asks).map(([name, ask]) => ({ name, run: callers(count, ask) }))
  const chunk = count === 1 ? 1_000 : 4_000
  const keys = (workloads[workload]?.().keys ?? []).slice(0, 4 * chunk)
  const tool = workload === 'many' ? [await byBenchmark(all, count)] : []
  const makers = [...others, ...tool].map((each) => () => each)
  const results = await measureInPairs(() => reference as Candidate, makers, keys, { seconds: 6, chunk, progress })
  await all.close()
  return {
    title,
    how: 'One server and one process, which share two cores; each candidate and rate-limiter-flexible alternate in turns of 4,000 decisions (1,000 for one caller), one candidate after the other.',
    columns: [RATIO, MICROS],
    rows: results.map(({ name, ratio, nanos }) => ({ name, figures: [ratio, scaled(nanos, 1 / 1_000)] })),
    targets,
  }
}

const target = (atMost: number, theirs = FLEXIBLE): Target => ({
  ours: OURS,
  theirs,
  column: RATIO,
  atMost,
  baseline: BY_HAND,
})
/** Half of what the fastest peer takes. */
const half = target(1 / 2, EXPRESS)

/** The commands that the server has run since the last call, without those of this function. */
async function commands(admin: Ioredis): Promise<number> {
  const stats = await admin.info('commandstats')
  await admin.config('RESETSTAT')
  const calls = [...stats.matchAll(/cmdstat_(\S+?):calls=(\d+)/g)]
  // Commands inside a script are part of its one command.
  const counted = calls.filter(([, name]) => /^(eval|evalsha|multi|exec|incrby|pttl|set|script)/.test(name as string))
  const scripted = counted.some(([, name]) => name === 'evalsha')
  return counted
    .filter(([, name]) => !scripted || /^(eval|evalsha|script)/.test(name as string))
    .reduce((sum, [, , count]) => sum + Number(count), 0)
}

const SENT = 'commands'

async function asked(progress: (share: number) => void): Promise<Table> {
  const all = await field()
  const rows: { name: string; figures: (Figure | null)[] }[] = []
  const note = async (name: string, requests: number, ask: () => Promise<unknown>): Promise<void> => {
    await commands(all.admin)
    for (let i = 0; i < requests; i++) await ask()
    rows.push({ name, figures: [exactly((await commands(all.admin)) / (requests / 100_000))] })
    progress(rows.length / 4)
  }
  const flexible = new RateLimiterRedis({ storeClient: all.admin, points: 1, duration: 3600, keyPrefix: 'over' })
  const over = all.limiter(perMinute(1), { prefix: 'over' })
  const leased = all.limiter(perMinute(600_000), { prefix: 'leased', lease: 100 })
  await over.consume('a')
  const denied = (): Promise<unknown> => flexible.consume('a').catch(() => {})
  await note('rate-limiter-flexible, denied', 10_000, denied)
  await note('spillway, denied', 100_000, () => over.consume('a'))
  await note('rate-limiter-flexible, allowed', 10_000, () => all.asks[FLEXIBLE]?.('b') as Promise<unknown>)
  await note('spillway, allowed, leases of 100', 100_000, () => leased.consume('a'))
  await all.close()
  return {
    title: 'Commands sent to Redis for 100,000 requests of one key',
    how: 'One caller; counted by the server. Commands inside a script are not counted.',
    columns: [SENT],
    rows,
    targets: [
      { ours: 'spillway, denied', column: SENT, atMost: 100 },
      { ours: 'spillway, allowed, leases of 100', column: SENT, atMost: 2_000 },
    ],
  }
}

async function shares(progress: (share: number) => void): Promise<Table> {
  const all = await field()
  const { keys } = workloads.many()
  const runs = Object.entries(all.asks).map(([name, ask]) => {
    const run = callers(500, ask)
    return [name, async (decisions: number) => run(keys, 0, decisions)] as const
  })
  const pid = Number(/process_id:(\d+)/.exec(await all.admin.info('server'))?.[1])
  const table = await spent(
    {
      title: 'CPU time of a decision in Redis: 500 callers, 10,000 keys',
      how: 'CPU time of the server and of the calling process; all alternate in turns of 4,000 decisions.',
    },
    pid,
    Object.fromEntries(runs),
    40_000,
    progress,
  )
  await all.close()
  return { ...table, targets: [{ ours: OURS, column: SERVER_MICROS, atMost: 4 }] }
}

const BYTES = 'bytes per key'

async function bytes(progress: (share: number) => void): Promise<Table> {
  const all = await field()
  const used = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await all.admin.info('memory'))?.[1])
  const keys = Array.from({ length: 100_000 }, (_, i) => addressOf(i))
  const short = all.limiter(AMPLE, { prefix: 's' })
  const asks: Readonly<Record<string, Ask>> = {
    ...Object.fromEntries([FLEXIBLE, EXPRESS, OURS].map((name) => [name, all.asks[name] as Ask])),
    'spillway, ioredis, a prefix of one letter': (key) => short.consume(key),
    'a timestamp under the address itself': (key) => all.admin.set(key, Date.now() * 1_000, 'PX', 60_000),
  }
  const rows: Table['rows'][number][] = []
  for (const [name, ask] of Object.entries(asks)) {
    await all.admin.flushall()
    const before = await used()
    await callers(200, ask)(keys, 0, keys.length)
    rows.push({ name, figures: [exactly(((await used()) - before) / keys.length)] })
    progress(rows.length / Object.keys(asks).length)
  }
  await all.close()
  return {
    title: 'Memory of Redis',
    how: 'Growth of used_memory with 100,000 addresses, one bucket or window each.',
    columns: [BYTES],
    rows,
    targets: [{ ours: OURS, column: BYTES, atMost: 125 }],
  }
}

export const processes = 2

export const cases: Readonly<Record<string, Case>> = {
  one: (progress) => {
    const targets = [target(1.1), { ours: OURS_TOO, theirs: FLEXIBLE_TOO, column: RATIO, atMost: 1.1 }]
    return decisions('A decision in Redis: one caller, 10,000 keys', 'many', 1, targets, progress)
  },
  fifty: (progress) =>
    decisions('A decision in Redis: 50 callers, 10,000 keys', 'many', 50, [target(1 / 0.95), half], progress),
  crowd: (progress) =>
    decisions('A decision in Redis: 500 callers, 10,000 keys', 'many', 500, [target(1 / 3), half], progress),
  hot: (progress) =>
    decisions('A decision in Redis: 500 callers, one hot key', 'hot', 500, [target(1 / 3), half], progress),
  shares,
  asked,
  bytes,
  remainder: remainder.redis,
}
