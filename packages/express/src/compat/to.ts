import {
  checkOptions,
  isSync,
  type Micros,
  micros,
  type Quota,
  QuotaError,
  type Store,
  slidingWindow,
  stepFor,
  type Take,
  type Taken,
  tokenBucket,
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

/** What a window and its requests are counted by, and how long it is. */
interface Quotas {
  /** One unit, gone for a window: when it is back, a new window may start. */
  readonly window: Quota
  /** Counts only: nothing is ever refused by it. */
  readonly count: Quota
}

/**
 * A store for express-rate-limit over one of Spillway's: the same windows, each of a key's own, which starts with its
 * first request and ends all at once. Two steps a request; a window's count has the window's end in its key, so that
 * those who see one end count together, and nothing has to be taken back.
 */
export function toExpressRateLimitStore(
  store: Store,
  options: ToExpressRateLimitStoreOptions = {},
): ExpressRateLimitStore {
  checkOptions('toExpressRateLimitStore', options, ['name', 'windowMs'])
  const { name = 'express-rate-limit' } = options
  let quotas = options.windowMs === undefined ? undefined : quotasOf(options.windowMs)

  const take = async (policy: string, key: string, quota: Quota, verb: Verb): Promise<Taken> => {
    const ops: readonly Take[] = [{ policy, key, step: stepFor(quota, verb, 1) }]
    const [taken] = isSync(store) ? store.takeSync(ops) : await store.take(ops)
    return taken as Taken
  }
  const known = (): Quotas => {
    if (quotas) return quotas
    throw new QuotaError('ERR_SPILLWAY_OPTION', 'toExpressRateLimitStore needs windowMs where no limiter calls init.')
  }
  const windowEnd = async (key: string, verb: Verb): Promise<Micros | undefined> => {
    const taken = (await take(name, key, known().window, verb)) as Taken & { readonly tat: Micros }
    return taken.tat > taken.now ? taken.tat : undefined
  }
  const counted = async (key: string, end: Micros, verb: Verb): Promise<Counted> => {
    const taken = (await take(`${name} count`, countKey(key, end), known().count, verb)) as Taken & { current: number }
    return { totalHits: taken.current, resetTime: new Date(Math.ceil(end / 1000)) }
  }

  return {
    localKeys: isSync(store),
    prefix: name,
    init: ({ windowMs }) => {
      quotas ??= quotasOf(windowMs)
    },
    get: async (key) => {
      const end = await windowEnd(key, 'peek')
      return end === undefined ? undefined : counted(key, end, 'peek')
    },
    increment: async (key) => counted(key, (await windowEnd(key, 'consume')) as Micros, 'charge'),
    decrement: async (key) => {
      const end = await windowEnd(key, 'peek')
      if (end !== undefined) await counted(key, end, 'refund')
    },
    resetKey: async (key) => {
      const end = await windowEnd(key, 'peek')
      if (end === undefined) return
      const states = [
        { policy: name, key },
        { policy: `${name} count`, key: countKey(key, end) },
      ]
      // One at a time: they may live apart.
      for (const state of states) await store.delete([state])
    },
  }
}

const countKey = (key: string, end: Micros): string => `${end}:${key}`

function quotasOf(windowMs: number): Quotas {
  // Whole milliseconds, so that a count's shares are exact whatever the window.
  const window = Math.ceil(micros(windowMs, 'windowMs') / 1000)
  return { window: tokenBucket({ limit: 1, per: window }), count: slidingWindow({ limit: 1, window }) }
}
