import type { Micros } from '@spillway/core'
import { sentenceOf } from '../explain/sentence.ts'
import { count } from '../format.ts'
import type { Reading } from '../log/read.ts'
import { type WhatIf, whatIf } from '../suggest/what-if.ts'
import type { BreakdownResult } from './breakdown.ts'
import type { Concurrency } from './flights.ts'
import { keyText } from './key-text.ts'
import type { Lane } from './lane.ts'
import type { Plan } from './plan.ts'
import type { Followed, KeyTally } from './tally.ts'
import { firstOf } from './top.ts'

/** The result of a replay: plain data, the same for text, JSON and HTML. Times are ISO 8601 in UTC. */
export interface Result {
  readonly files: readonly string[]
  readonly lines: number
  readonly requests: number
  /** The requests of each format that was read. */
  readonly formats: Readonly<Record<string, number>>
  readonly from: string | null
  readonly to: string | null
  readonly bad: Reading['bad']
  /** Lines that are no requests of their own. */
  readonly skipped: number
  readonly late: { readonly count: number; readonly mostMs: number }
  readonly notes: readonly string[]
  /** The reasons against a verdict; empty if there is one. */
  readonly doubts: readonly string[]
  readonly plans: readonly PlanResult[]
}

export interface PlanResult {
  readonly name: string
  /** The document that the policies were read from. */
  readonly document: unknown
  readonly counted: number
  readonly allowed: number
  readonly denied: number
  readonly uncounted: number
  readonly timeline: {
    readonly startMs: number
    readonly widthMs: number
    readonly allowed: readonly number[]
    readonly denied: readonly number[]
  }
  readonly policies: readonly PolicyResult[]
}

export interface PolicyResult {
  readonly name: string
  readonly sentence: string
  readonly mode: 'enforce' | 'shadow'
  readonly limit: number
  readonly requests: number
  readonly denied: number
  /** The number of keys; an estimate if `exact` is false. */
  readonly keys: number
  /** The keys with a denied request; a lower bound if `exact` is false. */
  readonly keysDenied: number
  readonly exact: boolean
  /** Requests without the part that is the key, which count as one client. */
  readonly keyless: number
  readonly delayed: number
  readonly longestDelayMs: number
  /** Keys with denied requests, most first. */
  readonly deniedKeys: readonly KeyResult[]
  /** Keys without denied requests, those with the fewest remaining units first. */
  readonly closest: readonly KeyResult[]
  /** Keys with the most requests. */
  readonly busiest: readonly KeyResult[]
  readonly followed: readonly FollowedResult[]
  readonly breakdown: BreakdownResult
  /** What other limits would have denied; null if none can be tried, or none is needed. */
  readonly whatIf: WhatIf | null
  /** How many requests were in flight at once; null if the log has no durations. */
  readonly concurrency: Concurrency | null
}

/** The remaining units of a key over time: the minimum and the maximum per interval, null without requests. */
export interface FollowedResult {
  readonly key: string
  readonly startMs: number
  readonly widthMs: number
  readonly leastRemaining: readonly (number | null)[]
  readonly mostRemaining: readonly (number | null)[]
  readonly denied: readonly number[]
}

export interface KeyResult {
  readonly key: string
  readonly requests: number
  readonly denied: number
  readonly firstDeniedAt: string | null
  readonly lastDeniedAt: string | null
  /** Null if no wait would have helped. */
  readonly longestRetryMs: number | null
  readonly leastRemaining: number
  readonly leastAt: string
}

/** The number of keys of each kind in the result. */
const KEYS = 20
/** The number of keys that are drawn over time. */
const DRAWN = 24

/** Which other limits are tried: the lowest that denies at most a share, and with `ladder` many between. */
export interface Limits {
  readonly share: number
  readonly ladder: boolean
}

export function resultOf(
  files: readonly string[],
  reading: Reading,
  plans: readonly (Plan & { readonly document: unknown })[],
  doubts: readonly string[],
  limits: Limits,
): Result {
  return {
    files,
    lines: reading.lines,
    requests: reading.entries,
    formats: Object.fromEntries(reading.formats),
    from: reading.from === undefined ? null : iso(reading.from),
    to: reading.to === undefined ? null : iso(reading.to),
    bad: reading.bad,
    skipped: reading.skipped,
    late: { count: reading.late.count, mostMs: reading.late.most / 1000 },
    notes: notesOf(reading, plans),
    doubts,
    plans: plans.map((plan) => planResult(plan, limits)),
  }
}

export const iso = (moment: Micros): string => new Date(moment / 1000).toISOString()

function planResult(plan: Plan & { readonly document: unknown }, limits: Limits): PlanResult {
  const { name, document, counts, timeline, lanes } = plan
  const part = ({ values }: { readonly values: Float64Array }): number[] => [...values.slice(0, timeline.length)]
  return {
    name,
    document,
    counted: counts.counted,
    allowed: counts.counted - counts.denied,
    denied: counts.denied,
    uncounted: counts.uncounted,
    timeline: {
      startMs: timeline.start / 1000,
      widthMs: timeline.width / 1000,
      allowed: part(plan.allowed),
      denied: part(plan.denied),
    },
    policies: lanes.map((lane) => policyResult(lane, limits)),
  }
}

function policyResult({ policy, tally, counts, breakdown, spool, flights }: Lane, limits: Limits): PolicyResult {
  const result = (tally: KeyTally): KeyResult => keyResult(keyText(policy.key, tally.key), tally)
  const all = tally.all()
  const denied = all.filter(({ denied }) => denied > 0)
  const deniedKeys = firstOf(denied, KEYS, (a, b) => b.denied - a.denied)
  const closest = firstOf(
    all.filter(({ denied, requests }) => denied === 0 && requests > 0),
    KEYS,
    (a, b) => a.leastRemaining - b.leastRemaining || b.requests - a.requests,
  )
  const busiest = firstOf(all, KEYS, (a, b) => b.requests - a.requests)
  const followed = firstOf(
    all.filter(({ followed }) => followed !== undefined),
    DRAWN,
    (a, b) => b.denied - a.denied || b.requests - a.requests,
  )
  return {
    name: policy.name,
    sentence: sentenceOf(policy),
    mode: policy.mode ?? 'enforce',
    limit: policy.quota.limit,
    ...counts,
    keys: tally.size,
    keysDenied: denied.length,
    exact: tally.exact,
    deniedKeys: deniedKeys.map(result),
    closest: closest.map(result),
    busiest: busiest.map(result),
    followed: followed.map(({ key, followed }) => followedResult(keyText(policy.key, key), followed as Followed)),
    breakdown: breakdown.result(),
    whatIf:
      spool && (limits.ladder || counts.denied > limits.share * spool.size)
        ? whatIf(spool, policy.quota.window, Math.floor(limits.share * spool.size), limits.ladder)
        : null,
    concurrency: flights?.result((key) => keyText(policy.key, key)) ?? null,
  }
}

function followedResult(key: string, { timeline, leastRemaining, mostRemaining, denied }: Followed): FollowedResult {
  const values = ({ values }: { readonly values: Float64Array }): (number | null)[] =>
    [...values.slice(0, timeline.length)].map((value) => (Number.isNaN(value) ? null : value))
  return {
    key,
    startMs: timeline.start / 1000,
    widthMs: timeline.width / 1000,
    leastRemaining: values(leastRemaining),
    mostRemaining: values(mostRemaining),
    denied: [...denied.values.slice(0, timeline.length)],
  }
}

function keyResult(key: string, tally: KeyTally): KeyResult {
  const { requests, denied, firstDeniedAt, lastDeniedAt, longestRetryMs, leastRemaining, leastAt } = tally
  return {
    key,
    requests,
    denied,
    firstDeniedAt: denied === 0 ? null : iso(firstDeniedAt),
    lastDeniedAt: denied === 0 ? null : iso(lastDeniedAt),
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
        `Policy "${policy.name}": ${count(counts.keyless)} of ${count(counts.requests)} requests have no key; they count as one client.`,
      )
    }
  }
  return notes
}
