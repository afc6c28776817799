import { type Logger, QuotaError, type Store } from '@spillway/core'
import { formatValue } from '@spillway/core/internal'

/** The count of a key in an express-rate-limit store. */
export interface Counted {
  /** The requests in this window so far, including denied ones. */
  totalHits: number
  /** The end of the window; undefined if the store does not report it. */
  resetTime: Date | undefined
}

/** A store of express-rate-limit 6 and later. */
export interface ExpressRateLimitStore {
  init?(options: { readonly windowMs: number; readonly logger?: Logger }): void | Promise<void>
  get?(key: string): Promise<Counted | undefined> | Counted | undefined
  increment(key: string): Promise<Counted> | Counted
  decrement(key: string): Promise<void> | void
  resetKey(key: string): Promise<void> | void
  resetAll?(): Promise<void> | void
  shutdown?(): Promise<void> | void
  /** Whether keys are local to this limiter: not shared with other limiters or processes. */
  localKeys?: boolean
  /** The prefix of the keys in the store. */
  prefix?: string
}

/** How a store of express-rate-limit 5 and earlier returns a count. */
export type IncrementCallback = (error: Error | undefined, totalHits: number, resetTime: Date | undefined) => void

/** A store of express-rate-limit 5 and earlier. */
export interface LegacyExpressRateLimitStore {
  incr(key: string, callback: IncrementCallback): void
  decrement(key: string): void
  resetKey(key: string): void
  resetAll?(): void
}

/** A store of any version of express-rate-limit. */
export type AnyExpressRateLimitStore = ExpressRateLimitStore | LegacyExpressRateLimitStore

export const isSpillwayStore = (store: unknown): store is Store => has(store, 'take', 'delete')

/** Checks an express-rate-limit store, and adapts one with callbacks to the interface with promises. */
export function promised(store: unknown): ExpressRateLimitStore {
  if (has(store, 'increment', 'decrement', 'resetKey') && isCallable(store, 'init', 'resetAll')) {
    return store as ExpressRateLimitStore
  }
  if (!has(store, 'incr', 'decrement', 'resetKey')) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `store must be a store of express-rate-limit, with functions increment, decrement, resetKey, and if there are any, init and resetAll, or of Spillway, such as memoryStore(); got ${formatValue(store)}.`,
    )
  }
  const legacy = store as LegacyExpressRateLimitStore
  return {
    increment: (key) =>
      new Promise((resolve, reject) => {
        legacy.incr(key, (error, totalHits, resetTime) => (error ? reject(error) : resolve({ totalHits, resetTime })))
      }),
    decrement: (key) => legacy.decrement(key),
    resetKey: (key) => legacy.resetKey(key),
    resetAll: () => legacy.resetAll?.(),
  }
}

/** Reports whether each of these members is a function or missing. */
const isCallable = (store: unknown, ...methods: readonly string[]): boolean =>
  methods.every((name) => ['function', 'undefined'].includes(typeof (store as Record<string, unknown>)[name]))

function has(store: unknown, ...methods: readonly string[]): boolean {
  if (typeof store !== 'object' || store === null) return false
  return methods.every((name) => typeof (store as Record<string, unknown>)[name] === 'function')
}
