import { type BucketState, type BucketStep, type Quota, tokenBucket } from '@spillway/core'
import { runKernel, stepFor } from '@spillway/core/internal'
import type { Spool } from './spool.ts'

/** The spans that quotas are suggested for. */
export const PERIODS = { second: '1s', minute: '1m', hour: '1h', day: '1d' } as const

export type Period = keyof typeof PERIODS

/** The lowest limit that would have denied no more than wanted. */
export interface Suggestion {
  readonly per: Period
  readonly limit: number
  readonly denied: number
  /** The keys with at least one denied request. */
  readonly keys: number
}

/**
 * Finds, by bisection, the lowest limit of a token bucket that would have denied at most `most` requests. A higher
 * limit never denies more.
 */
export function tightest(spool: Spool, per: Period, most: number): Suggestion {
  let [low, high] = [1, Math.max(...chunked(spool.totals), 1)]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (deniedBy(spool, quotaOf(middle, per), most).denied > most) low = middle + 1
    else high = middle
  }
  return { per, limit: low, ...deniedBy(spool, quotaOf(low, per), Infinity) }
}

const quotaOf = (limit: number, per: Period): Quota => tokenBucket({ limit, per: PERIODS[per] })

/** Replays the spooled requests on a quota until more than `most` are denied. */
function deniedBy(spool: Spool, quota: Quota, most: number): { readonly denied: number; readonly keys: number } {
  const step = stepFor(quota, 'consume', 1) as BucketStep
  const states: (BucketState | undefined)[] = new Array(spool.totals.length)
  const hit = new Set<number>()
  let denied = 0
  spool.each((at, key) => {
    // A key with no more requests than the burst is never denied.
    if ((spool.totals[key] as number) <= quota.limit) return true
    const { allowed, taken, kept } = runKernel(states[key], at, step)
    states[key] = (allowed ? taken : kept) as BucketState | undefined
    if (allowed) return true
    denied++
    hit.add(key)
    return denied <= most
  })
  return { denied, keys: hit.size }
}

/** In chunks of a few thousand, because the number of arguments of a call is limited. */
function chunked(values: readonly number[]): readonly number[] {
  const largest: number[] = []
  for (let i = 0; i < values.length; i += 10_000) largest.push(Math.max(...values.slice(i, i + 10_000)))
  return largest
}
