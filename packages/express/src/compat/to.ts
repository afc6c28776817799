import {
  checkOptions,
  fixedWindow,
  isSync,
  micros,
  QuotaError,
  type SlidingWindowQuota,
  type SlidingWindowTaken,
  type Store,
  stepFor,
  type Verb,
} from '@spillway/core'
import type { Counted, ExpressRateLimitStore } from './store.ts'

/** What `toExpressRateLimitStore` takes besides the store. */
export interface ToExpressRateLimitStoreOptions {
  /** Tells limiters on one store apart; `'express-rate-limit'` unless given. */
  readonly name?: string
  /** The length of a window; what the limiter says in `init` unless given. */
  readonly windowMs?: number
}

/**
 * A store for express-rate-limit over one of Spillway's: the same windows, each of a key's own, which starts with its
 * first request and ends all at once. Every call is one atomic take of a `fixedWindow` with `align: 'first'`.
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
      throw new QuotaError('ERR_SPILLWAY_OPTION', 'toExpressRateLimitStore needs windowMs where no limiter calls init.')
    }
    const [taken] = await store.take([{ policy: name, key, step: stepFor(quota, verb, 1) }])
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
    // A window whose requests have all been taken off is told apart from none by its start, which is past.
    get: async (key) => {
      const found = await take(key, 'peek')
      return found.current > 0 || found.start < found.now ? counted(found) : undefined
    },
    // A charge counts denied requests too, as express-rate-limit does.
    increment: async (key) => counted(await take(key, 'charge')),
    decrement: async (key) => {
      await take(key, 'refund')
    },
    resetKey: async (key) => {
      await store.delete([{ policy: name, key }])
    },
  }
}

const quotaOf = (windowMs: number): SlidingWindowQuota =>
  // Whole milliseconds, as express-rate-limit counts them.
  fixedWindow({ limit: 1, window: Math.ceil(micros(windowMs, 'windowMs') / 1000), align: 'first' })
