import type { Decision } from '../algorithms/decision.ts'
import type { Logger } from '../common/warn.ts'
import type { Store } from '../stores/store.ts'
import type { QuotaOf } from './quota-of.ts'

/** Options of a lean limiter. */
export interface LeanLimiterOptions<S extends Store = Store> {
  /** How many units per time, such as `perMinute(100)`. */
  readonly quota: QuotaOf<S>
  /** Where the counts are kept, such as `redisStore(client)`. A remote store of your own: `remoteStore(store)`. */
  readonly store: S
  /**
   * The name of the limiter: its policy's name in decisions, and part of its states' names in the store.
   * @default `'default'`
   */
  readonly name?: string
  /**
   * Where warnings and store failures are logged.
   * @default `console`
   */
  readonly logger?: Logger
}

/** A limiter that consumes. Its other verbs are functions of it: `refund(limiter, key)`. */
export interface LeanLimiter {
  /**
   * Consumes `cost` units (default: 1) if they are available. A denial is a decision, not an error. If the store fails,
   * its failure mode decides.
   */
  consume(key: string, cost?: number): Promise<Decision>
  /** Returns the decision of `consume`, without consuming. `remaining` is the number of units before the request. */
  peek(key: string, cost?: number): Promise<Decision>
  /** Resets a key, which becomes new. Resolves with whether there was a state of it, which may have been full again. */
  reset(key: string): Promise<boolean>
}

/** A lean limiter on an in-memory store: it can also decide without a promise. */
export interface SyncLeanLimiter extends LeanLimiter {
  /** The decision of `consume`, without a promise. */
  consumeSync(key: string, cost?: number): Decision
}
