// The cost of a decision in memory, by algorithm: each as a multiple of the same algorithm written by hand.

import * as spillway from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import * as byHand from './by-hand.ts'
import { type Candidate, measure } from './measure.ts'
import { AMPLE, candidate, sink } from './rivals.ts'
import type { Case, Row, Table } from './table.ts'
import { type Workload, workloads } from './workloads.ts'

const RATIO = 'times hand-written'
const FIXED = 'fixed window'
const EXPRESS = 'express-rate-limit, its store'

/** An algorithm of ours, the same by hand, and the most that ours may take. */
interface Pair {
  readonly name: string
  readonly quotas: Readonly<Record<string, spillway.Quota>>
  readonly cost?: number
  readonly hand: (clock: byHand.Clock) => byHand.Decide
  readonly atMost: number
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
  { name: 'token bucket', quotas: { bucket }, hand: () => byHand.tokenBucket(limit, burst, 1), atMost: 1.15 },
  {
    name: 'token bucket, cost 5',
    quotas: { bucket },
    cost: 5,
    hand: () => byHand.tokenBucket(limit, burst, 5),
    atMost: 1.15,
  },
  {
    name: 'leaky bucket',
    quotas: { leaky: spillway.leakyBucket({ limit, per: '1s', queue: AMOUNT }) },
    hand: () => byHand.leakyBucket(limit, AMOUNT),
    atMost: 1.15,
  },
  {
    name: FIXED,
    quotas: { fixed: spillway.fixedWindow({ limit: AMOUNT, window: HOUR_MS }) },
    hand: () => byHand.fixedWindow(AMOUNT, HOUR_MS),
    atMost: 1.35,
  },
  {
    name: 'sliding window',
    quotas: { sliding: spillway.slidingWindow({ limit: AMOUNT, window: HOUR_MS }) },
    hand: () => byHand.slidingWindow(AMOUNT, HOUR_MS),
    atMost: 1.25,
  },
  {
    name: 'sliding log of 100',
    quotas: { log: spillway.slidingLog({ limit: LOGGED, window: '1s' }) },
    hand: (clock) => byHand.slidingLog(LOGGED, 1000, clock),
    atMost: 1.4,
    stepMs: 1000 / LOGGED,
  },
  {
    name: 'two policies',
    quotas: { bucket, others },
    hand: () => byHand.twoBuckets([limit, burst], [limit / 2, burst]),
    atMost: 1.4,
  },
]

/** Quotas that deny nearly all. */
const denied: readonly Pair[] = [
  {
    name: 'token bucket',
    quotas: { bucket: spillway.tokenBucket({ limit: 1, per: '1s' }) },
    hand: () => byHand.tokenBucket(1, 1, 1),
    atMost: 1.5,
  },
  {
    name: FIXED,
    quotas: { fixed: spillway.fixedWindow({ limit: 1, window: HOUR_MS }) },
    hand: () => byHand.fixedWindow(1, HOUR_MS),
    atMost: 1.5,
  },
  {
    name: 'sliding window',
    quotas: { sliding: spillway.slidingWindow({ limit: 1, window: HOUR_MS }) },
    hand: () => byHand.slidingWindow(1, HOUR_MS),
    atMost: 1.5,
  },
  {
    name: 'sliding log of 100',
    quotas: { log: spillway.slidingLog({ limit: LOGGED, window: HOUR_MS }) },
    hand: (clock) => byHand.slidingLog(LOGGED, HOUR_MS, clock),
    atMost: 1.5,
  },
  {
    name: 'two policies',
    quotas: { bucket: spillway.tokenBucket({ limit: 1, per: '1s' }), others },
    hand: () => byHand.twoBuckets([1, 1], [limit / 2, burst]),
    atMost: 1.5,
  },
]

const of = (pairs: readonly Pair[], names: readonly string[], atMost: number): readonly Pair[] =>
  pairs.filter(({ name }) => names.includes(name)).map((pair) => ({ ...pair, atMost }))

/** A clock in milliseconds that moves with each call. */
function clockOf({ stepMs = 0 }: Pair): byHand.Clock {
  if (stepMs === 0) return Date.now
  let ahead = 0
  return () => {
    ahead += stepMs
    return Date.now() + ahead
  }
}

function ours(pair: Pair): Candidate {
  const clock = clockOf(pair)
  const store = memoryStore(pair.stepMs ? { clock: () => clock() * 1000 } : {})
  const [quota, ...rest] = Object.values(pair.quotas) as [spillway.Quota, ...spillway.Quota[]]
  const limiter = spillway.rateLimiter({ store, ...(rest.length > 0 ? { quotas: pair.quotas } : { quota }) })
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

/** Measures each pair with stores of its own. `peer` is a candidate beside our fixed window. */
async function compared(
  what: string,
  pairs: readonly Pair[],
  { keys }: Workload,
  progress: (share: number) => void,
  peer?: Candidate,
): Promise<Table> {
  const rows: Row[] = []
  for (const [i, pair] of pairs.entries()) {
    for (const candidate of pair.name === FIXED && peer ? [ours(pair), peer] : [ours(pair)]) {
      const told = (share: number): void => progress((i + share) / pairs.length)
      const [reference, result] = await measure(hand(pair), [candidate], keys, { seconds: 2, progress: told })
      if (result && reference) rows.push({ name: result.name, figures: [result.ratio, result.nanos, reference.nanos] })
    }
  }
  const aims = pairs.map(({ name, atMost }) => ({ ours: name, column: RATIO, atMost }))
  return {
    title: `A decision in memory, by algorithm: ${what}`,
    how: 'One process; each algorithm and the same by hand, in a Map, alternate in turns of 10,000 decisions.',
    columns: [RATIO, 'ns', 'ns hand-written'],
    rows,
    aims: peer ? [...aims, { ours: FIXED, theirs: EXPRESS, column: RATIO, atMost: 0.75 }] : aims,
  }
}

const terms = { ...AMPLE, maxKeys: 100_000 }

export const algorithms: Readonly<Record<string, Case>> = {
  algorithms: (progress) => compared('one hot key', allowed, workloads.hot(), progress, candidate(EXPRESS, terms)),
  'algorithms-denied': (progress) => compared('one hot key, denied', denied, workloads.hot(), progress),
  'algorithms-many': (progress) =>
    compared('10,000 keys', of(allowed, [FIXED, 'sliding window', 'two policies'], 0.9), workloads.many(), progress),
}
