// Measures one algorithm beside the same by hand, in its own process: in a process with several algorithms, engines compile
// what they share for all of them.

import * as spillway from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import * as baseline from './baselines.ts'
import { type Candidate, measure } from './measure.ts'
import { AMPLE, candidate, sink } from './rivals.ts'
import { workloads } from './workloads.ts'

const FIXED = 'fixed window'
const EXPRESS = 'express-rate-limit, its store'

/** An algorithm of ours, and the same by hand. */
interface Pair {
  readonly name: string
  readonly quotas: Readonly<Record<string, spillway.Quota>>
  readonly cost?: number
  readonly hand: (clock: baseline.Clock) => baseline.Decide
  /** How far a clock moves with each call; 0 for the machine's alone. */
  readonly stepMs?: number
}

const HOUR_MS = 3_600_000
const AMOUNT = 1_000_000_000
const { limit, burst } = AMPLE
const LOGGED = 100

const bucket = spillway.tokenBucket({ limit, per: '1s', burst })
const others = spillway.tokenBucket({ limit: limit / 2, per: '1s', burst })

/** Quotas that deny nothing. */
const allowed: readonly Pair[] = [
  { name: 'token bucket', quotas: { bucket }, hand: () => baseline.tokenBucket(limit, burst, 1) },
  {
    name: 'token bucket, cost 5',
    quotas: { bucket },
    cost: 5,
    hand: () => baseline.tokenBucket(limit, burst, 5),
  },
  {
    name: 'leaky bucket',
    quotas: { leaky: spillway.leakyBucket({ limit, per: '1s', queue: AMOUNT }) },
    hand: () => baseline.leakyBucket(limit, AMOUNT),
  },
  {
    name: FIXED,
    quotas: { fixed: spillway.fixedWindow({ limit: AMOUNT, window: HOUR_MS }) },
    hand: () => baseline.fixedWindow(AMOUNT, HOUR_MS),
  },
  {
    name: 'sliding window',
    quotas: { sliding: spillway.slidingWindow({ limit: AMOUNT, window: HOUR_MS }) },
    hand: () => baseline.slidingWindow(AMOUNT, HOUR_MS),
  },
  {
    name: 'sliding log of 100',
    quotas: { log: spillway.slidingLog({ limit: LOGGED, window: '1s' }) },
    hand: (clock) => baseline.slidingLog(LOGGED, 1000, clock),
    stepMs: 1000 / LOGGED,
  },
  {
    name: 'two policies',
    quotas: { bucket, others },
    hand: () => baseline.twoBuckets([limit, burst], [limit / 2, burst]),
  },
]

/** Quotas that deny nearly all. */
const denied: readonly Pair[] = [
  {
    name: 'token bucket',
    quotas: { bucket: spillway.tokenBucket({ limit: 1, per: '1s' }) },
    hand: () => baseline.tokenBucket(1, 1, 1),
  },
  {
    name: FIXED,
    quotas: { fixed: spillway.fixedWindow({ limit: 1, window: HOUR_MS }) },
    hand: () => baseline.fixedWindow(1, HOUR_MS),
  },
  {
    name: 'sliding window',
    quotas: { sliding: spillway.slidingWindow({ limit: 1, window: HOUR_MS }) },
    hand: () => baseline.slidingWindow(1, HOUR_MS),
  },
  {
    name: 'sliding log of 100',
    quotas: { log: spillway.slidingLog({ limit: LOGGED, window: HOUR_MS }) },
    hand: (clock) => baseline.slidingLog(LOGGED, HOUR_MS, clock),
  },
  {
    name: 'two policies',
    quotas: { bucket: spillway.tokenBucket({ limit: 1, per: '1s' }), others },
    hand: () => baseline.twoBuckets([1, 1], [limit / 2, burst]),
  },
]

/** A clock in milliseconds that moves with each call. */
function clockOf({ stepMs = 0 }: Pair): baseline.Clock {
  if (stepMs === 0) return Date.now
  let ahead = 0
  return () => {
    ahead += stepMs
    return Date.now() + ahead
  }
}

function limiterOf(pair: Pair): spillway.SyncRateLimiter {
  const clock = clockOf(pair)
  const store = memoryStore(pair.stepMs ? { clock: () => clock() * 1000 } : {})
  const [quota, ...rest] = Object.values(pair.quotas) as [spillway.Quota, ...spillway.Quota[]]
  return spillway.rateLimiter({ store, ...(rest.length > 0 ? { quotas: pair.quotas } : { quota }) })
}

function ours(pair: Pair): Candidate {
  const limiter = limiterOf(pair)
  const { cost = 1 } = pair
  return {
    name: pair.name,
    run: (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += limiter.consumeSync(keys[i] as string, cost).remaining
      sink.seen += seen
    },
  }
}

function hand(pair: Pair): Candidate {
  const decide = pair.hand(clockOf(pair))
  return {
    name: `${pair.name}, hand-written`,
    run: (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += decide(keys[i] as string).remaining
      sink.seen += seen
    },
  }
}

/** Uses all algorithms, as apps do: engines compile what they share for all of them. */
function useAll(): void {
  const limiters = [...allowed, ...denied].map(limiterOf)
  for (let i = 0; i < 300_000; i++) {
    for (const limiter of limiters) sink.seen += limiter.consumeSync(`user:${i % 100}`).remaining
  }
}

const [what = '', name = ''] = process.argv.slice(2)
if (what.startsWith('used')) useAll()
const pair = (what.endsWith('denied') ? denied : allowed).find((each) => each.name === name)
const reference = hand(pair ?? (allowed.find((each) => each.name === FIXED) as Pair))
const candidates = [pair ? ours(pair) : candidate(EXPRESS, { ...AMPLE, maxKeys: 100_000 })]
const { keys } = what === 'many' ? workloads.many() : workloads.hot()
const results = await measure(reference, candidates, keys, { seconds: 2, progress: () => {} })
process.send?.(results, () => process.exit(0))
