// What the lean entries of adapters are made of: the plain way of a request, and the features that an app names. Such an app
// bundles and runs no other.

import type { Awaitable } from '../common/maybe-promise.ts'
import type { Logger } from '../common/warn.ts'
import type { Quota } from '../quotas/quota-types.ts'
import type { Store } from '../stores/store.ts'
import { guardOf, type PlainGuard } from './pipeline/guard.ts'
import { install } from './pipeline/install.ts'
import { plain } from './pipeline/lean.ts'
import type { AddressOptions } from './pipeline/request-sources.ts'
import type { Feature } from './pipeline/seams.ts'
import type { RequestReader } from './requests/reader.ts'

export type { OnDeniedOptions } from '../features/answers/denied.ts'
export { answers } from '../features/answers/index.ts'
export { type BlockOptions, blocks } from '../features/blocks/index.ts'
export { costs } from '../features/costs/index.ts'
export type { CostOptions } from '../features/costs/request-cost.ts'
export { type EventOptions, events } from '../features/events/index.ts'
export type { HeaderOptions } from '../features/header-forms/header-builder.ts'
export { headerForms } from '../features/header-forms/index.ts'
export { type MatchOptions, matching, type SkipOptions } from '../features/matching/index.ts'
export { partitions } from '../features/partitions/index.ts'
export type { PartitionOptions } from '../features/partitions/partition.ts'
export { type QuotaOptions, quotasByRequest } from '../features/quotas-by-request/index.ts'
export { type ClaimsOptions, type SelectorOptions, selectors } from '../features/selectors/index.ts'
export type { KeyOption } from '../features/selectors/selectors.ts'
export { type PreflightOptions, settling } from '../features/settling/index.ts'
export { settled } from '../features/settling/open-corrections.ts'
export type { RefundOptions, SettleOptions } from '../features/settling/settlement.ts'
export { several, type TierOptions } from '../features/several/index.ts'
export { type ModeOptions, shadow } from '../features/shadow/index.ts'
export { type SpillOptions, spill } from '../features/spill/index.ts'
export { type OneStoreOptions, type OwnStoreOptions, stores } from '../features/stores/index.ts'
export { type TrustedProxiesOptions, trustedProxies } from '../features/trusted-proxies/index.ts'
export { type WaitingOptions, waiting } from '../features/waiting/index.ts'
export type { StoreOptions } from '../policies/store-config.ts'
export type { UnitOptions } from './headers/header-item.ts'
export { plainJoin, plainMissing } from './headers/plain-join.ts'
export type { ProblemOptions } from './headers/problem.ts'
export type { PlainGuard } from './pipeline/guard.ts'
export type { Feature } from './pipeline/seams.ts'
export type { RequestDecision, Verdict } from './pipeline/verdict.ts'

/** A feature with the types of its options: for all policies, and for each policy. */
export interface OptionsFeature<Limiter extends object = object, Policy extends object = object> extends Feature {
  /** Only a type: it is never set. */
  readonly types?: { readonly limiter: Limiter; readonly policy: Policy }
}

/** All members of a union. */
type All<U> = (U extends unknown ? (each: U) => void : never) extends (each: infer I) => void ? I : never

/** The options for all policies of features. */
type LimiterOptions<F> = F extends OptionsFeature<infer Limiter> ? Limiter : never
/** The options for each policy of features. */
type PolicyOptions<F> = F extends OptionsFeature<object, infer Policy> ? Policy : never

/** The options that a limiter has without features, for all policies. */
export interface PlainLimiterOptions extends AddressOptions {
  /**
   * Where warnings are logged.
   * @default `console`
   */
  readonly logger?: Logger
}

/** The options that a policy has without features. */
export interface PlainPolicyOptions<R> {
  /**
   * The policy's name in headers, problem documents and decisions.
   * @default `'default'`
   */
  readonly name?: string
  /** The units per period, such as `perMinute(100)`. */
  readonly quota: Quota
  /**
   * The client that a request counts for: its address, or what a function returns. Features add selectors.
   * @default `'ip'`
   */
  readonly key?: 'ip' | ((request: R) => Awaitable<string | undefined>)
}

/** The plain options of a policy, but for those that features widen. */
type PolicyWith<R, P> = Omit<PlainPolicyOptions<R>, keyof P> & P

/** The options of a policy, with features. */
type PolicyOf<R, F> = PolicyWith<R, All<PolicyOptions<F> | object>>

/** A list of policies, with the feature for several. */
type Policies<R, F> = [Extract<F, { readonly name: 'several' }>] extends [never]
  ? never
  : { readonly policies: readonly PolicyOf<R, F>[] }

/** The options of a limiter with features. An option of another feature is a type error. */
export type LeanOptions<R, F> = PlainLimiterOptions &
  All<LimiterOptions<F> | object> &
  (PolicyOf<R, F> | Policies<R, F>)

/** Builds limiters with these features, and no others: `createGuard([trustedProxies, matching])`. */
export function createGuard<R, S>(
  features: readonly Feature[],
  reader: RequestReader<R>,
  defaultStore: () => Store,
): (options: object) => PlainGuard<R, S> {
  const pipeline = install([plain, ...features])
  return (options) => guardOf(pipeline, options, reader, defaultStore)
}
