// Each algorithm as an application would write it: a Map, no bounds, no checks, no eviction, and the numbers of headers.

import type { Answer } from './floors.ts'

/** The time in milliseconds. */
export type Clock = () => number
/** Decides about a key. */
export type Decide = (key: string) => Answer

interface Bucket {
  tokens: number
  at: number
}

/** A token bucket of `limit` units a second; each request takes `cost`. */
export function tokenBucket(limit: number, burst: number, cost: number): Decide {
  const perMilli = limit / 1000
  const buckets = new Map<string, Bucket>()
  return (key) => {
    const bucket = refilled(buckets, key, perMilli, burst, Date.now())
    const allowed = bucket.tokens >= cost
    if (allowed) bucket.tokens -= cost
    return {
      allowed,
      remaining: Math.floor(bucket.tokens),
      retryAfterMs: allowed ? 0 : (cost - bucket.tokens) / perMilli,
      resetAfterMs: (burst - bucket.tokens) / perMilli,
    }
  }
}

function refilled(buckets: Map<string, Bucket>, key: string, perMilli: number, burst: number, now: number): Bucket {
  let bucket = buckets.get(key)
  if (bucket === undefined) {
    bucket = { tokens: burst, at: now }
    buckets.set(key, bucket)
  } else {
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) * perMilli)
    bucket.at = now
  }
  return bucket
}

/** Two token buckets of a key: both pay, or none. */
export function twoBuckets(first: readonly [number, number], second: readonly [number, number]): Decide {
  const [firsts, seconds] = [new Map<string, Bucket>(), new Map<string, Bucket>()]
  const [firstPerMilli, secondPerMilli] = [first[0] / 1000, second[0] / 1000]
  return (key) => {
    const now = Date.now()
    const one = refilled(firsts, key, firstPerMilli, first[1], now)
    const other = refilled(seconds, key, secondPerMilli, second[1], now)
    const allowed = one.tokens >= 1 && other.tokens >= 1
    if (allowed) {
      one.tokens -= 1
      other.tokens -= 1
    }
    const wait = Math.max((1 - one.tokens) / firstPerMilli, (1 - other.tokens) / secondPerMilli)
    return {
      allowed,
      remaining: Math.floor(Math.min(one.tokens, other.tokens)),
      retryAfterMs: allowed ? 0 : wait,
      resetAfterMs: Math.max((first[1] - one.tokens) / firstPerMilli, (second[1] - other.tokens) / secondPerMilli),
    }
  }
}

/** A leaky bucket: requests have their turn one by one, and up to `queue` of them wait. */
export function leakyBucket(limit: number, queue: number): Decide {
  const each = 1000 / limit
  const nextTurns = new Map<string, number>()
  return (key) => {
    const now = Date.now()
    const turn = Math.max(nextTurns.get(key) ?? now, now)
    const allowed = turn - now <= queue * each
    const next = allowed ? turn + each : turn
    if (allowed) nextTurns.set(key, next)
    return {
      allowed,
      remaining: Math.floor(queue + 1 - (next - now) / each),
      retryAfterMs: allowed ? 0 : turn - now - queue * each,
      resetAfterMs: next - now,
    }
  }
}

/** A fixed window of the clock. */
export function fixedWindow(limit: number, windowMs: number): Decide {
  const windows = new Map<string, { count: number; end: number }>()
  return (key) => {
    const now = Date.now()
    let window = windows.get(key)
    if (window === undefined) {
      window = { count: 0, end: (Math.floor(now / windowMs) + 1) * windowMs }
      windows.set(key, window)
    } else if (now >= window.end) {
      window.count = 0
      window.end = (Math.floor(now / windowMs) + 1) * windowMs
    }
    const allowed = window.count < limit
    if (allowed) window.count++
    return {
      allowed,
      remaining: limit - window.count,
      retryAfterMs: allowed ? 0 : window.end - now,
      resetAfterMs: window.end - now,
    }
  }
}

/** A sliding window of two counts. */
export function slidingWindow(limit: number, windowMs: number): Decide {
  const windows = new Map<string, { start: number; current: number; previous: number }>()
  return (key) => {
    const now = Date.now()
    let window = windows.get(key)
    if (window === undefined) {
      window = { start: now, current: 0, previous: 0 }
      windows.set(key, window)
    } else if (now - window.start >= 2 * windowMs) {
      window.start = now
      window.current = window.previous = 0
    } else if (now - window.start >= windowMs) {
      window.start += windowMs
      window.previous = window.current
      window.current = 0
    }
    const share = 1 - (now - window.start) / windowMs
    const used = Math.floor(window.previous * share) + window.current
    const allowed = used < limit
    if (allowed) window.current++
    const end = window.start + windowMs - now
    const fades = window.current < limit ? ((used - limit + 1) / window.previous) * windowMs : end
    const remaining = allowed ? limit - used - 1 : 0
    return { allowed, remaining, retryAfterMs: allowed ? 0 : fades, resetAfterMs: end + windowMs }
  }
}

/** A log of the requests in the last window. */
export function slidingLog(limit: number, windowMs: number, clock: Clock): Decide {
  const logs = new Map<string, number[]>()
  return (key) => {
    const now = clock()
    let log = logs.get(key)
    if (log === undefined) {
      log = []
      logs.set(key, log)
    }
    while (log.length > 0 && (log[0] as number) <= now - windowMs) log.shift()
    const allowed = log.length < limit
    if (allowed) log.push(now)
    return {
      allowed,
      remaining: limit - log.length,
      retryAfterMs: allowed ? 0 : (log[0] as number) + windowMs - now,
      resetAfterMs: (log[log.length - 1] as number) + windowMs - now,
    }
  }
}
