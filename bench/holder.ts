// Stores a million keys in its own process, and reports memory and pauses.

import { PerformanceObserver } from 'node:perf_hooks'
import { type Quota, slidingLog, slidingWindow, tokenBucket } from '@spillway/core'
import { memoryStore, rateLimiter } from '@spillway/memory'
import { KEYS_ALONE } from './floors.ts'
import type { Candidate } from './measure.ts'
import { type Rival, rivals, sink } from './rivals.ts'

/** The longest pause by a hundred decisions and concurrent work, in milliseconds. */
export interface Stall {
  readonly inAllMs: number
  /** The longest pause without garbage collection. */
  readonly ownMs: number
}

/** The cost of a million keys. */
export interface Held {
  readonly bytesAKey: number
  readonly timers: number
  /** While the million keys are added. */
  readonly filling: Stall
  /** While all of them expire. */
  readonly expiring: Stall
  /** While ten times as many new keys as fit are added; null for unbounded stores. */
  readonly flooded: Stall | null
}

const KEYS = 1_000_000
const WARMING = 1_000
const CHUNK = 100
const WINDOW_MS = 20_000
/** The minimum duration of a stall. */
const SLOW_MS = 1

interface Holder {
  readonly run: Candidate['run']
  /** Makes all keys expire at once; undefined if that needs real time. */
  readonly expire?: () => void
  readonly bounded: boolean
}

const ours = (quota: Quota) => (): Holder => {
  let ahead = 0
  const store = memoryStore({ maxKeys: KEYS, clock: () => (Date.now() + ahead) * 1000 })
  const limiter = rateLimiter({ quota, store })
  return {
    bounded: true,
    expire: () => {
      // A sliding window counts for two hours, and an expired state is kept for a minute.
      ahead += 3 * 3_600_000
    },
    run: (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += limiter.consumeSync(keys[i] as string).remaining
      sink.seen += seen
    },
  }
}

/** The minimum of any limiter: the newest million keys themselves. */
function keysAlone(): Holder {
  const held: string[] = []
  let at = 0
  return {
    bounded: true,
    expire: () => {},
    run: (keys, from, to) => {
      for (let i = from; i < to; i++) held[at++ % KEYS] = keys[i] as string
    },
  }
}

const theirs = (name: Rival): Holder => ({
  bounded: false,
  run: rivals[name]({ limit: 10, burst: 10, maxKeys: KEYS, windowMs: WINDOW_MS }),
})

/** A flat string, as from a socket: a concatenated string needs twice the memory. */
const addressOf = (n: number): string =>
  Buffer.from(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`, 'latin1').toString('latin1')
const keysFrom = (first: number): string[] => Array.from({ length: CHUNK }, (_, i) => addressOf(first + i))

async function bytes(): Promise<number> {
  // Memory outside the heap is freed a little later than the object is collected.
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

interface Span {
  readonly from: number
  readonly to: number
}

const collections: Span[] = []
const observer = new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) {
    collections.push({ from: startTime, to: startTime + duration })
  }
})
observer.observe({ entryTypes: ['gc'] })

/** Decides about new keys, one chunk per turn of the event loop. */
async function stallOf(run: Candidate['run'], first: number, goesOn: (turn: number) => boolean): Promise<Stall> {
  const slow: (Span & { readonly ms: number })[] = []
  let [from, before] = [performance.now(), process.cpuUsage()]
  for (let turn = 0; goesOn(turn); turn++) {
    await run(keysFrom(first + turn * CHUNK), 0, CHUNK)
    // Timers run between chunks.
    if (turn % 10 === 0) await new Promise(setImmediate)
    const [to, now] = [performance.now(), process.cpuUsage()]
    // CPU time includes other threads, and wall time includes other programs.
    const ms = Math.min(to - from, (now.user + now.system - before.user - before.system) / 1000)
    if (ms > SLOW_MS) slow.push({ from, to, ms })
    ;[from, before] = [to, now]
  }
  // Garbage collections are reported a little later.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const collected = (turn: Span): boolean => collections.some(({ from, to }) => from < turn.to && to > turn.from)
  const most = (turns: typeof slow): number => Math.max(SLOW_MS, ...turns.map(({ ms }) => ms))
  return { inAllMs: most(slow), ownMs: most(slow.filter((turn) => !collected(turn))) }
}

/** Another instance warms up the compiler, so that compilation does not count as a cost of keys. */
async function warm({ run }: Holder): Promise<void> {
  for (let turn = 0; turn < WARMING; turn++) await run(keysFrom(turn * CHUNK), 0, CHUNK)
}

async function held(make: () => Holder): Promise<Held> {
  await warm(make())
  const { run, expire, bounded } = make()
  const empty = await bytes()
  const turns = KEYS / CHUNK
  const filling = await stallOf(run, 0, (turn) => turn < turns)
  const until = performance.now() + 2 * WINDOW_MS
  const bytesAKey = ((await bytes()) - empty) / KEYS
  const timers = process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
  expire?.()
  const expiring = await stallOf(run, KEYS, (turn) => (expire ? turn < turns : performance.now() < until))
  const flooded = bounded ? await stallOf(run, 2 * KEYS, (turn) => turn < 10 * turns) : null
  return { bytesAKey, timers, filling, expiring, flooded }
}

const [name = ''] = process.argv.slice(2)
const makers: Readonly<Record<string, () => Holder>> = {
  spillway: ours(tokenBucket({ limit: 10, per: '1h' })),
  'spillway, sliding window': ours(slidingWindow({ limit: 10, window: '1h' })),
  'spillway, sliding log': ours(slidingLog({ limit: 10, window: '1h' })),
  [KEYS_ALONE]: keysAlone,
}
const answer = await held(makers[name] ?? (() => theirs(name as Rival)))
process.send?.(answer, () => process.exit(0))
