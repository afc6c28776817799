import { shownPolicies } from '../algorithms/penalty/block-list.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import { canBlock } from './blocked.ts'
import type { Inspection } from './inspect.ts'
import type { LimiterInternals } from './internals.ts'
import type { KeyList, ListOptions } from './list-types.ts'
import { inspect, list } from './verbs.ts'

/** A policy of a limiter. */
export interface NamedQuota {
  /** The name of its states in the store, and in decisions. */
  readonly name: string
  /** Its numbers. */
  readonly quota: Quota
}

/** What a limiter reports of its policies and its store. None of it consumes or writes anything. */
export interface LimiterReports {
  /** The policies of the limiter, in the order of its quotas; none if a function chooses the quota by key. */
  readonly policies: readonly NamedQuota[]
  /** Whether the limiter looks for blocked keys, so that `block` and `unblock` do not reject. */
  readonly canBlock: boolean
  /** Reports what the store keeps about a key, for each policy. Rejects with a `StoreError` if the store fails. */
  inspect(key: string): Promise<readonly Inspection[]>
  /**
   * Lists the keys that have used the most of a policy. Rejects with a `StoreError` if the store fails, and with a
   * `QuotaError` if it cannot list its states or an option is invalid.
   */
  list(options?: ListOptions): Promise<KeyList>
}

/** What Node and chai print a value with. Without it, chai calls the method `inspect` of any value that has one. */
const PRINT: symbol = Symbol.for('nodejs.util.inspect.custom')

/** The reports of the policies in force; `blocks`: each has a block list, also of quotas that a function chooses by key. */
export const reportsOf = (own: LimiterInternals, blocks: boolean): LimiterReports => ({
  [PRINT]: () =>
    `RateLimiter(${shownPolicies(own.active().policies)
      .map(({ name }) => name)
      .join(', ')})`,
  get policies() {
    return shownPolicies(own.active().policies).map(({ name, quota }) => ({ name, quota }))
  },
  get canBlock() {
    return blocks || own.active().policies.some(canBlock)
  },
  inspect: (key) => inspect(own, key),
  list: (options) => list(own, options),
})
