import type { Awaitable } from '../../common/maybe-promise.ts'
import type { Duration } from '../../common/time.ts'
import type { Quota } from '../../quotas/quota-types.ts'
import type { StoreErrorOption } from '../../stores/failure-mode.ts'
import type { Store } from '../../stores/store.ts'
import type { DenialOptions } from '../headers/denied.ts'
import type { PolicyHeaderOptions } from '../headers/header-item.ts'
import type { KeyOption } from '../keys/selectors.ts'
import type { Statuses } from '../requests/status-test.ts'
import type { MatchOption } from './match.ts'
import type { CostOptions } from './request-cost.ts'

/** A named quota, with the clients and requests that it counts and the cost of a request. */
export interface PolicyOptions<R, S = unknown, Name extends string = string, A = S>
  extends CostOptions<R>,
    PolicyHeaderOptions,
    DenialOptions<R, A, Name> {
  /**
   * The policy's name in headers, problem documents and decisions, and part of its state's name in the store.
   * @default `'default'`
   */
  readonly name?: Name
  /**
   * The units per period, such as `perMinute(100)`, or a function that returns the quota of a request, such as that of
   * its user's plan.
   */
  readonly quota: Quota | ((request: R) => Awaitable<Quota>)
  /**
   * The client that a request counts for: a selector such as `'ip'` or `'header:x-api-key'`, a list of selectors, or a
   * function.
   * @default `'ip'`
   */
  readonly key?: KeyOption<R>
  /**
   * The requests that the policy applies to: conditions, a function, or a list of these, of which one must hold.
   * @default all requests
   */
  readonly match?: MatchOption<R>
  /**
   * `'shadow'` counts and reports, in a state of its own, but never denies.
   * @default `'enforce'`
   */
  readonly mode?: 'enforce' | 'shadow'
  /**
   * The store of this policy's counts; `undefined` selects the default.
   * @default the limiter's `store`
   */
  readonly store?: Store | undefined
  /**
   * The time to wait for a remote store. Policies that one store checks together share the shortest deadline.
   * @default the limiter's `deadline`
   */
  readonly deadline?: Duration
  /**
   * The decision while the store does not answer.
   * @default the limiter's `onStoreError`
   */
  readonly onStoreError?: StoreErrorOption
  /**
   * Whether keys can be blocked by hand: `block(key, '1h')`. Each request then looks at a second state of its key, in the
   * same step. A `penalty` can block without it.
   * @default `false`
   */
  readonly blocks?: boolean
  /**
   * The name of a policy for requests that this one denies: their units are consumed from that policy instead.
   * @default none
   */
  readonly spill?: NoInfer<Name>
  /**
   * The name of a group of tiers, of which a request has one: the first policy of the group whose `match` holds counts,
   * and those after it do not. The last one, without `match`, is for all others.
   * @default none, the policy counts whatever the others do
   */
  readonly tiers?: string
  /**
   * Returns the actual cost, read from the response. The units consumed are corrected to it: the rest is refunded, or
   * more is charged.
   * @default none
   */
  readonly settle?: (response: S) => Awaitable<number>
  /**
   * The response statuses that count, such as `[401]` for failed logins, or a function of the status. The units are
   * consumed before the handler runs, and refunded if the status does not count. They stay consumed if the client
   * disconnects before it is answered.
   * @default all statuses
   */
  readonly countIf?: Statuses
}

export const POLICY_OPTIONS: readonly string[] = [
  'name',
  'quota',
  'key',
  'match',
  'mode',
  'cost',
  'defaultCost',
  'maxCost',
  'settle',
  'countIf',
  'problem',
  'onDenied',
  'unit',
  'partition',
  'store',
  'deadline',
  'onStoreError',
  'blocks',
  'spill',
  'tiers',
]
