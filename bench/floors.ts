import { LRUCache } from 'lru-cache'

/** Baselines: the minimum that a limiter with per-key state needs. */
export const KEYS_ALONE = 'the keys alone, in a list'

/** The result of a baseline: the numbers that headers report. */
export interface Answer {
  readonly allowed: boolean
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
}

/** A token bucket's numbers: units per second, and the capacity. */
export interface Rate {
  readonly limit: number
  readonly burst: number
}

interface Bucket {
  tokens: number
  at: number
}

/** A minimal hand-written token bucket: no bounds, no checks, no eviction. */
export function mapOfBuckets({ limit, burst }: Rate): (key: string) => Answer {
  const perMilli = limit / 1000
  const buckets = new Map<string, Bucket>()
  return (key) => {
    const now = Date.now()
    let bucket = buckets.get(key)
    if (bucket === undefined) {
      bucket = { tokens: burst, at: now }
      buckets.set(key, bucket)
    } else {
      bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) * perMilli)
      bucket.at = now
    }
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    return {
      allowed,
      remaining: Math.floor(bucket.tokens),
      retryAfterMs: allowed ? 0 : (1 - bucket.tokens) / perMilli,
      resetAfterMs: (burst - bucket.tokens) / perMilli,
    }
  }
}

/** The same, with all the fields of a `Decision`. */
export function bucketsOfTenFields(rate: Rate) {
  const decide = mapOfBuckets(rate)
  const none: readonly string[] = []
  const { burst } = rate
  return (key: string) => {
    const { allowed, remaining, retryAfterMs, resetAfterMs } = decide(key)
    return {
      allowed,
      policy: 'default',
      limit: burst,
      remaining,
      cost: 1,
      retryAfterMs,
      resetAfterMs,
      replenishAfterMs: resetAfterMs / burst,
      delayMs: 0,
      violated: none,
    }
  }
}

/** The same in a bounded cache, which evicts the least recently used bucket. */
export function lruOfBuckets({ limit, burst }: Rate, max: number): (key: string) => Answer {
  const perMilli = limit / 1000
  const buckets = new LRUCache<string, Bucket>({ max })
  return (key) => {
    const now = Date.now()
    let bucket = buckets.get(key)
    if (bucket === undefined) {
      bucket = { tokens: burst, at: now }
      buckets.set(key, bucket)
    } else {
      bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) * perMilli)
      bucket.at = now
    }
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    return {
      allowed,
      remaining: Math.floor(bucket.tokens),
      retryAfterMs: allowed ? 0 : (1 - bucket.tokens) / perMilli,
      resetAfterMs: (burst - bucket.tokens) / perMilli,
    }
  }
}

/** A bucket with one number per key, like the kernel's state, in the same cache. */
export function lruOfNumbers({ limit, burst }: Rate, max: number): (key: string) => Answer {
  const unit = 1000 / limit
  const fullAt = new LRUCache<string, number>({ max })
  return (key) => {
    const now = Date.now()
    const before = Math.max(fullAt.get(key) ?? now, now) - now
    const over = before + unit - burst * unit
    const allowed = over <= 0
    const ahead = allowed ? before + unit : before
    if (allowed) fullAt.set(key, now + ahead)
    return {
      allowed,
      remaining: Math.floor(burst - ahead / unit),
      retryAfterMs: allowed ? 0 : over,
      resetAfterMs: ahead,
    }
  }
}
