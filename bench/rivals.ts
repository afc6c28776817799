import LocalStore from '@fastify/rate-limit/store/LocalStore.js'
import { memoryStore as hitStore } from '@joint-ops/hitlimit'
import { rateLimiter, tokenBucket } from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import { MemoryStore as ExpressStore } from 'express-rate-limit'
import { MemoryStore as HonoStore } from 'hono-rate-limiter'
import KoaLimiter from 'koa-ratelimit/limiter/memory.js'
import { TokenBucket } from 'limiter'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { bucketsOfTenFields, lruOfBuckets, lruOfNumbers, mapOfBuckets, type Rate } from './floors.ts'
import type { Candidate } from './measure.ts'

/** A quota that denies nothing at any speed. */
export const AMPLE = { limit: 1_000_000, burst: 1_000_000_000 }

/** The limits that candidates apply. */
export interface Terms extends Rate {
  /** The capacity of bounded candidates, in keys. */
  readonly maxKeys: number
  /** How long windows are, in those that have them; an hour unless given. */
  readonly windowMs?: number
}

/** Stores results, so that the compiler cannot remove unused code. */
export const sink = { seen: 0 }

const HOUR_MS = 3_600_000
const quotaOf = ({ limit, burst }: Rate) => tokenBucket({ limit, per: '1s', burst })

/** Limiters that decide in memory. */
export const rivals = {
  'Map of buckets, hand-written': (terms) => {
    const decide = mapOfBuckets(terms)
    return (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += decide(keys[i] as string).remaining
      sink.seen += seen
    }
  },
  'hand-written, ten fields': (terms) => {
    const decide = bucketsOfTenFields(terms)
    return (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) {
        const { remaining, replenishAfterMs } = decide(keys[i] as string)
        seen += remaining + replenishAfterMs
      }
      sink.seen += seen
    }
  },
  'hand-written, a promise': (terms) => {
    const decide = mapOfBuckets(terms)
    const consume = async (key: string) => decide(key)
    return async (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += (await consume(keys[i] as string)).remaining
      sink.seen += seen
    }
  },
  'spillway consumeSync': (terms) => {
    const limiter = rateLimiter({ quota: quotaOf(terms), store: memoryStore({ maxKeys: terms.maxKeys }) })
    return (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += limiter.consumeSync(keys[i] as string).remaining
      sink.seen += seen
    }
  },
  'spillway consume': (terms) => {
    const limiter = rateLimiter({ quota: quotaOf(terms), store: memoryStore({ maxKeys: terms.maxKeys }) })
    return async (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += (await limiter.consume(keys[i] as string)).remaining
      sink.seen += seen
    }
  },
  'lru-cache of buckets, hand-written': (terms) => {
    const decide = lruOfBuckets(terms, terms.maxKeys)
    return (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += decide(keys[i] as string).remaining
      sink.seen += seen
    }
  },
  'lru-cache of numbers, hand-written': (terms) => {
    const decide = lruOfNumbers(terms, terms.maxKeys)
    return (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += decide(keys[i] as string).remaining
      sink.seen += seen
    }
  },
  'hitlimit, its store': ({ burst, windowMs = HOUR_MS }) => {
    const store = hitStore()
    return (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) {
        const { count } = store.hit(keys[i] as string, windowMs, burst) as { count: number }
        seen += burst - count
      }
      sink.seen += seen
    }
  },
  'hono-rate-limiter, its store': ({ burst, windowMs = HOUR_MS }) => {
    const store = new HonoStore()
    store.init({ windowMs } as Parameters<typeof store.init>[0])
    return (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += burst - store.increment(keys[i] as string).totalHits
      sink.seen += seen
    }
  },
  '@fastify/rate-limit, its store': ({ burst, maxKeys, windowMs = HOUR_MS }) => {
    const store = new LocalStore(false, false, maxKeys)
    return (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) {
        store.incr(
          keys[i] as string,
          (_, { current }) => {
            seen += burst - current
          },
          windowMs,
          burst,
        )
      }
      sink.seen += seen
    }
  },
  'limiter, TokenBuckets in a Map': ({ limit, burst }) => {
    const buckets = new Map<string, TokenBucket>()
    return (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) {
        const key = keys[i] as string
        let bucket = buckets.get(key)
        if (bucket === undefined) {
          bucket = new TokenBucket({ bucketSize: burst, tokensPerInterval: limit, interval: 'second' })
          bucket.content = burst
          buckets.set(key, bucket)
        }
        seen += bucket.tryRemoveTokens(1) ? 1 : 0
      }
      sink.seen += seen
    }
  },
  'express-rate-limit, its store': ({ burst, windowMs = HOUR_MS }) => {
    const store = new ExpressStore()
    store.init({ windowMs } as Parameters<typeof store.init>[0])
    return async (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += burst - (await store.increment(keys[i] as string)).totalHits
      sink.seen += seen
    }
  },
  'koa-ratelimit, its limiter': ({ burst, windowMs = HOUR_MS }) => {
    const db = new Map()
    return async (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) {
        const limiter = new KoaLimiter({ id: keys[i] as string, db, max: burst, duration: windowMs })
        seen += (await limiter.get()).remaining
      }
      sink.seen += seen
    }
  },
  'rate-limiter-flexible': ({ burst, windowMs = HOUR_MS }) => {
    const limiter = new RateLimiterMemory({ points: burst, duration: windowMs / 1000 })
    return async (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) {
        try {
          seen += (await limiter.consume(keys[i] as string)).remainingPoints
        } catch (denial) {
          seen += (denial as { remainingPoints: number }).remainingPoints
        }
      }
      sink.seen += seen
    }
  },
} satisfies Record<string, (terms: Terms) => Candidate['run']>

export type Rival = keyof typeof rivals

/** A candidate, configured with the limits. */
export const candidate = (name: Rival, terms: Terms): Candidate => ({ name, run: rivals[name](terms) })
