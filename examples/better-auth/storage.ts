// Counts the requests of better-auth's rules in any store.

import { type RateLimiter, rateLimiter, type Store, slidingLog } from '@spillway/core'

/** A rule: at most `max` requests in `window` seconds. */
interface Rule {
  readonly window: number
  readonly max: number
}

/** A `customStorage` of better-auth. */
export function rateLimitStorage(store: Store) {
  // Rules are few, and each is one limiter.
  const limiters = new Map<string, RateLimiter>()
  const limiterFor = ({ window, max }: Rule): RateLimiter => {
    const name = `auth ${max} in ${window}s`
    const limiter =
      limiters.get(name) ?? rateLimiter({ name, quota: slidingLog({ limit: max, window: window * 1_000 }), store })
    limiters.set(name, limiter)
    return limiter
  }
  return {
    consume: async (key: string, rule: Rule) => {
      const { allowed, retryAfterMs } = await limiterFor(rule).consume(key)
      return { allowed, retryAfter: allowed ? null : Math.ceil(retryAfterMs / 1_000) }
    },
  }
}
