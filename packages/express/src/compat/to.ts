import {
  fixedWindow,
  isSync,
  micros,
  QuotaError,
  type SlidingWindowQuota,
  type SlidingWindowTaken,
  type Store,
} from '@spillway/core'
import { checkOptions, stepFor, type Verb } from '@spillway/core/internal'
import type { Counted, ExpressRateLimitStore } from './store.ts'

/** The options of `toExpressRateLimitStore`. */
export interface ToExpressRateLimitStoreOptions {
  /**
   * The name that separates limiters on one store.
   * @default `'express-rate-limit'`
   */
  readonly name?: string
  /**
   * The length of a window in milliseconds.
   * @default the limiter's `windowMs`, passed to `init`
   */
  readonly windowMs?: number
}

/**
 * Makes a store for express-rate-limit from one of Spillway, with the same windows: each key has its own, which starts
 * with its first request. Every call is one atomic take of a `fixedWindow` with `align: 'first'`.
 */
export function toExpressRateLimitStore(
  store: Store,
  options: ToExpressRateLimitStoreOptions = {},
): ExpressRateLimitStore {
  checkOptions('toExpressRateLimitStore', options, ['name', 'windowMs'])
  const { name = 'express-rate-limit' } = options
  let quota = options.windowMs === undefined ? undefined : quotaOf(options.windowMs)
  const take = async (key: string, verb: Verb): Promise<SlidingWindowTaken> => {
    if (quota === undefined) {
      throw new QuotaError('ERR_SPILLWAY_OPTION', 'toExpressRateLimitStore needs windowMs if no limiter calls init.')
    }
    // In JavaScript a keyGenerator may return undefined: such requests count as one client.
    const [taken] = await store.take([{ policy: name, key: String(key), step: stepFor(quota, verb, 1) }])
    return taken as SlidingWindowTaken
  }
  const counted = ({ start, current }: SlidingWindowTaken): Counted => ({
    totalHits: current,
    resetTime: new Date(Math.ceil((start + (quota as SlidingWindowQuota).window) / 1000)),
  })
  return {
    localKeys: isSync(store),
    prefix: name,
    init: ({ windowMs }) => {
      quota ??= quotaOf(windowMs)
    },
    ...(store.deleteAll && {
      resetAll: async () => {
        await store.deleteAll?.([name])
      },
    }),
    // A window whose requests were all subtracted differs from a missing one by its start, which is in the past.
    get: async (key) => {
      if (quota === undefined) return undefined // No limiter has counted yet.
      const found = await take(key, 'peek')
      return found.current > 0 || found.start < found.now ? counted(found) : undefined
    },
    // A charge counts denied requests too, as express-rate-limit does.
    increment: async (key) => counted(await take(key, 'charge')),
    decrement: async (key) => {
      await take(key, 'refund')
    },
    resetKey: async (key) => {
      await store.delete([{ policy: name, key: String(key) }])
    },
  }
}

const quotaOf = (windowMs: number): SlidingWindowQuota =>
  // Rounded up to whole milliseconds, as express-rate-limit does.
  fixedWindow({ limit: 1, window: Math.ceil(micros(windowMs, 'windowMs') / 1000), align: 'first' })
