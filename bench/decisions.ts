import { rateLimiter, tokenBucket } from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import { MemoryStore } from 'express-rate-limit'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { Candidate } from './measure.ts'

/** Decides in memory whether a request is let through: ours, theirs, and the least that it could cost. */
export interface Field {
  readonly floor: Candidate
  readonly rivals: readonly Candidate[]
}

// So much that nothing is ever refused, whatever the speed.
const LIMIT = 1_000_000
const BURST = 1_000_000_000

/** Kept so that no compiler finds out that nobody reads the answers. */
export const sink = { seen: 0 }

export function field(maxKeys: number): Field {
  const quota = tokenBucket({ limit: LIMIT, per: '1s', burst: BURST })
  const forSync = rateLimiter({ quota, store: memoryStore({ maxKeys }) })
  const forPromises = rateLimiter({ quota, store: memoryStore({ maxKeys }) })
  const hits = new MemoryStore()
  hits.init({ windowMs: 60_000 } as Parameters<typeof hits.init>[0])
  const flexible = new RateLimiterMemory({ points: BURST, duration: 60 })
  const byHand = handWritten()
  return {
    floor: {
      name: 'floor: a Map of buckets, by hand',
      run: (keys, from, to) => {
        for (let i = from; i < to; i++) sink.seen += byHand(keys[i] as string).remaining
      },
    },
    rivals: [
      {
        name: 'spillway consumeSync',
        run: (keys, from, to) => {
          for (let i = from; i < to; i++) sink.seen += forSync.consumeSync(keys[i] as string).remaining
        },
      },
      {
        name: 'spillway consume',
        run: async (keys, from, to) => {
          for (let i = from; i < to; i++) sink.seen += (await forPromises.consume(keys[i] as string)).remaining
        },
      },
      {
        name: 'express-rate-limit MemoryStore',
        run: async (keys, from, to) => {
          for (let i = from; i < to; i++) sink.seen += (await hits.increment(keys[i] as string)).totalHits
        },
      },
      {
        name: 'rate-limiter-flexible Memory',
        run: async (keys, from, to) => {
          for (let i = from; i < to; i++) sink.seen += (await flexible.consume(keys[i] as string)).remainingPoints
        },
      },
    ],
  }
}

/** A token bucket as one writes it down in five minutes: no bounds, no checks, nothing ever forgotten. */
function handWritten() {
  const perMilli = LIMIT / 1000
  const buckets = new Map<string, { tokens: number; at: number }>()
  return (key: string) => {
    const now = Date.now()
    let bucket = buckets.get(key)
    if (bucket === undefined) {
      bucket = { tokens: BURST, at: now }
      buckets.set(key, bucket)
    } else {
      bucket.tokens = Math.min(BURST, bucket.tokens + (now - bucket.at) * perMilli)
      bucket.at = now
    }
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    return {
      allowed,
      remaining: Math.floor(bucket.tokens),
      retryAfterMs: allowed ? 0 : (1 - bucket.tokens) / perMilli,
      resetAfterMs: (BURST - bucket.tokens) / perMilli,
    }
  }
}
