import { QuotaError, type Store, shown } from '@spillway/core'

/** What an express-rate-limit store knows of a key. */
export interface Counted {
  /** Requests of the window so far, refused ones included. */
  readonly totalHits: number
  /** When the window ends; undefined where the store cannot tell. */
  readonly resetTime: Date | undefined
}

/** A store as express-rate-limit 6 and later have it. */
export interface ExpressRateLimitStore {
  init?(options: { readonly windowMs: number }): void | Promise<void>
  get?(key: string): Promise<Counted | undefined> | Counted | undefined
  increment(key: string): Promise<Counted> | Counted
  decrement(key: string): Promise<void> | void
  resetKey(key: string): Promise<void> | void
  resetAll?(): Promise<void> | void
  /** Keys counted here reach no other process, nor another limiter. */
  localKeys?: boolean
  /** What keys begin with where they are kept. */
  prefix?: string
}

/** A store as express-rate-limit 5 and earlier had it. */
export interface LegacyExpressRateLimitStore {
  incr(key: string, callback: (error: Error | undefined, totalHits: number, resetTime: Date | undefined) => void): void
  decrement(key: string): void
  resetKey(key: string): void
  resetAll?(): void
}

/** A store of express-rate-limit, of whichever age. */
export type AnyExpressRateLimitStore = ExpressRateLimitStore | LegacyExpressRateLimitStore

/** Reports whether a store is one of Spillway's. */
export const isSpillwayStore = (store: unknown): store is Store => has(store, 'take', 'delete')

/** Checks an express-rate-limit store, and gives one that calls back the promises of its successors. */
export function promised(store: unknown): ExpressRateLimitStore {
  if (has(store, 'increment', 'decrement', 'resetKey')) return store as ExpressRateLimitStore
  if (!has(store, 'incr', 'decrement', 'resetKey')) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `store must be a store of express-rate-limit, with increment, decrement and resetKey, or of Spillway, such as memoryStore(); got ${shown(store)}.`,
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
  }
}

function has(store: unknown, ...methods: readonly string[]): boolean {
  if (typeof store !== 'object' || store === null) return false
  return methods.every((name) => typeof (store as Record<string, unknown>)[name] === 'function')
}
