import type { Micros } from '@spillway/core'
import { sentenceOf } from '../explain/sentence.ts'
import { count } from '../format.ts'
import type { Reading } from '../log/read.ts'
import type { Lane, Plan } from './plan.ts'
import type { Followed, KeyTally } from './tally.ts'

/** The result of a replay: plain data, the same for text, JSON and HTML. Times are ISO 8601 in UTC. */
export interface Result {
  readonly files: readonly string[]
  readonly lines: number
  readonly requests: number
  readonly from: string | null
  readonly to: string | null
  readonly bad: Reading['bad']
  readonly late: { readonly count: number; readonly mostMs: number }
  readonly notes: readonly string[]
  /** The reasons against a verdict; empty if there is one. */
  readonly doubts: readonly string[]
  readonly plans: readonly PlanResult[]
}

export interface PlanResult {
  readonly name: string
  readonly counted: number
  readonly admitted: number
  readonly refused: number
  readonly uncounted: number
  readonly timeline: {
    readonly startMs: number
    readonly widthMs: number
    readonly admitted: readonly number[]
    readonly refused: readonly number[]
  }
  readonly policies: readonly PolicyResult[]
}

export interface PolicyResult {
  readonly name: string
  readonly sentence: string
  readonly mode: 'enforce' | 'shadow'
  readonly limit: number
  readonly asked: number
  readonly refused: number
  /** The number of keys; an estimate if `exact` is false. */
  readonly keys: number
  /** The keys with a denied request; a lower bound if `exact` is false. */
  readonly keysRefused: number
  readonly exact: boolean
  /** Requests without the part that is the key, which count as one client. */
  readonly keyless: number
  readonly delayed: number
  readonly longestDelayMs: number
  /** Keys with denied requests, most first. */
  readonly refusedKeys: readonly KeyResult[]
  /** Keys without denied requests, those with the fewest remaining units first. */
  readonly closest: readonly KeyResult[]
  /** Keys with the most requests. */
  readonly busiest: readonly KeyResult[]
  readonly followed: readonly FollowedResult[]
}

/** The remaining units of a key over time: the minimum and the maximum per interval, null without requests. */
export interface FollowedResult {
  readonly key: string
  readonly startMs: number
  readonly widthMs: number
  readonly left: readonly (number | null)[]
  readonly mostLeft: readonly (number | null)[]
  readonly refused: readonly number[]
}

export interface KeyResult {
  readonly key: string
  readonly asked: number
  readonly refused: number
  readonly firstRefusedAt: string | null
  readonly lastRefusedAt: string | null
  /** Null if no wait would have helped. */
  readonly longestRetryMs: number | null
  readonly leastRemaining: number
  readonly leastAt: string
}

/** The number of keys of each kind in the result. */
const KEYS = 20
/** The number of keys that are drawn over time. */
const DRAWN = 24

export function resultOf(
  files: readonly string[],
  reading: Reading,
  plans: readonly Plan[],
  doubts: readonly string[],
): Result {
  return {
    files,
    lines: reading.lines,
    requests: reading.entries,
    from: reading.from === undefined ? null : iso(reading.from),
    to: reading.to === undefined ? null : iso(reading.to),
    bad: reading.bad,
    late: { count: reading.late.count, mostMs: reading.late.most / 1000 },
    notes: notesOf(reading, plans),
    doubts,
    plans: plans.map(planResult),
  }
}

export const iso = (moment: Micros): string => new Date(moment / 1000).toISOString()

function planResult(plan: Plan): PlanResult {
  const { name, counts, timeline, lanes } = plan
  const part = ({ values }: { readonly values: Float64Array }): number[] => [...values.slice(0, timeline.length)]
  return {
    name,
    counted: counts.counted,
    admitted: counts.counted - counts.refused,
    refused: counts.refused,
    uncounted: counts.uncounted,
    timeline: {
      startMs: timeline.start / 1000,
      widthMs: timeline.width / 1000,
      admitted: part(plan.admitted),
      refused: part(plan.refused),
    },
    policies: lanes.map(policyResult),
  }
}

function policyResult({ policy, tally, counts }: Lane): PolicyResult {
  const refusedKeys = tally.top(
    DRAWN,
    (a, b) => b.refused - a.refused,
    ({ refused }) => refused > 0,
  )
  const closest = tally.top(
    DRAWN,
    (a, b) => a.leastRemaining - b.leastRemaining || b.asked - a.asked,
    ({ refused, asked }) => refused === 0 && asked > 0,
  )
  const busiest = tally.top(KEYS, (a, b) => b.asked - a.asked)
  const followed = tally.top(
    DRAWN,
    (a, b) => b.refused - a.refused || b.asked - a.asked,
    ({ followed }) => followed !== undefined,
  )
  return {
    name: policy.name,
    sentence: sentenceOf(policy),
    mode: policy.mode ?? 'enforce',
    limit: policy.quota.limit,
    ...counts,
    keys: tally.size,
    keysRefused: tally.refused,
    exact: tally.exact,
    refusedKeys: refusedKeys.slice(0, KEYS).map(keyResult),
    closest: closest.slice(0, KEYS).map(keyResult),
    busiest: busiest.map(keyResult),
    followed: followed.map(({ key, followed }) => followedResult(key, followed as Followed)),
  }
}

function followedResult(key: string, { timeline, left, mostLeft, refused }: Followed): FollowedResult {
  const told = ({ values }: { readonly values: Float64Array }): (number | null)[] =>
    [...values.slice(0, timeline.length)].map((value) => (Number.isNaN(value) ? null : value))
  return {
    key,
    startMs: timeline.start / 1000,
    widthMs: timeline.width / 1000,
    left: told(left),
    mostLeft: told(mostLeft),
    refused: [...refused.values.slice(0, timeline.length)],
  }
}

function keyResult(tally: KeyTally): KeyResult {
  const { key, asked, refused, firstRefusedAt, lastRefusedAt, longestRetryMs, leastRemaining, leastAt } = tally
  return {
    key,
    asked,
    refused,
    firstRefusedAt: refused === 0 ? null : iso(firstRefusedAt),
    lastRefusedAt: refused === 0 ? null : iso(lastRefusedAt),
    longestRetryMs: Number.isFinite(longestRetryMs) ? longestRetryMs : null,
    leastRemaining,
    leastAt: iso(leastAt),
  }
}

/** Notes that limit what the numbers mean. */
function notesOf(reading: Reading, plans: readonly Plan[]): readonly string[] {
  const notes: string[] = []
  const lanes = plans.flatMap(({ lanes }) => lanes)
  if (reading.wholeSeconds && lanes.some(({ policy }) => policy.quota.window < 60e6)) {
    notes.push(
      'The log has whole seconds: requests of one second count as simultaneous, so policies with short windows deny sooner.',
    )
  }
  for (const { policy, counts } of lanes) {
    if (counts.keyless > 0) {
      notes.push(
        `Policy "${policy.name}": ${count(counts.keyless)} of ${count(counts.asked)} requests have no key; they count as one client.`,
      )
    }
  }
  return notes
}
