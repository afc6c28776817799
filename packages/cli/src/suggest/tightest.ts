import { type Micros, type Quota, tokenBucket } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { type MemoryStore, memoryStore } from '@spillway/memory'
import type { Spool } from './spool.ts'

/** The spans that quotas are suggested for. */
export const PERIODS = { second: '1s', minute: '1m', hour: '1h', day: '1d' } as const

/** The span of a suggested quota. */
export type Period = keyof typeof PERIODS

/** The lowest limit that would have denied no more than wanted. */
export interface Suggestion extends Denied {
  readonly per: Period
  readonly limit: number
}

/** The requests of a log: how many each key has, and their times in order. */
export type Requests = Pick<Spool, 'keys' | 'totals' | 'each'>

/** The number of requests that a quota would have denied, and of their keys. */
export interface Denied {
  readonly denied: number
  readonly keys: number
}

/** The quota that is suggested: a token bucket. */
export const quotaPer = (per: Period, limit: number): Quota => tokenBucket({ limit, per: PERIODS[per] })

/** The lowest limit of a token bucket per period that would have denied at most `most` requests. */
export function tightest(requests: Requests, per: Period, most: number): Suggestion {
  const quotaOf = (limit: number): Quota => quotaPer(per, limit)
  const limit = lowestLimit(requests, quotaOf, most)
  return { per, limit, ...deniedBy(requests, quotaOf(limit), Infinity) }
}

/** Finds the lowest limit by bisection: a higher one never denies more. */
export function lowestLimit(requests: Requests, quotaOf: (limit: number) => Quota, most: number): number {
  let [low, high] = [1, mostOfAKey(requests)]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (deniedBy(requests, quotaOf(middle), most).denied > most) low = middle + 1
    else high = middle
  }
  return low
}

/** The most requests of one key: a limit that never denies. */
export const mostOfAKey = ({ totals }: Requests): number => Math.max(...chunked(totals), 1)

/** Replays requests on a quota until more than `most` are denied. */
export function deniedBy(requests: Requests, quota: Quota, most: number): Denied {
  const hit = new Set<number>()
  let denied = 0
  replayOn(requests, quota, (_, key, allowed) => {
    if (allowed) return true
    denied++
    hit.add(key)
    return denied <= most
  })
  return { denied, keys: hit.size }
}

/** Replays requests on a quota until `visit` returns false. */
export function replayOn(
  requests: Requests,
  quota: Quota,
  visit: (at: Micros, key: number, allowed: boolean) => boolean,
): void {
  const { keys, totals } = requests
  // A prepared take allocates nothing, unlike the kernel.
  const { prepareSync } = memoryStore({ maxKeys: keys.length + 1 }) as Required<MemoryStore>
  const prepared = prepareSync('replayed', stepFor(quota, 'consume', 1))
  requests.each((at, key) => {
    // A key with no more requests than the burst is never denied.
    if ((totals[key] as number) <= quota.limit) return visit(at, key, true)
    return visit(at, key, prepared.take(keys[key] as string, at).allowed)
  })
}

/** In chunks of a few thousand, because the number of arguments of a call is limited. */
function chunked(values: readonly number[]): readonly number[] {
  const largest: number[] = []
  for (let i = 0; i < values.length; i += 10_000) largest.push(Math.max(...values.slice(i, i + 10_000)))
  return largest
}
