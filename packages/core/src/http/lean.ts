// What the lean entries of adapters are made of: the plain way of a request, and the features that an app names. Such an app
// bundles and runs no other.

import { formatValue, QuotaError } from '../common/errors.ts'
import type { Awaitable } from '../common/maybe-promise.ts'
import type { Logger } from '../common/warn.ts'
import { headerForms as forms, type HeaderTypes } from '../features/header-forms/index.ts'
import { settling as corrections, type SettlingTypes } from '../features/settling/index.ts'
import type { Quota } from '../quotas/quota-types.ts'
import type { Store } from '../stores/store.ts'
import { joinHeaders } from './headers/headers.ts'
import { plainJoin } from './headers/plain-join.ts'
import { guardOf } from './pipeline/guard.ts'
import { install } from './pipeline/install.ts'
import { inOrder, plain } from './pipeline/lean.ts'
import type { AdapterParts, LimitOf } from './pipeline/parts.ts'
import type { AddressOptions } from './pipeline/request-sources.ts'
import type { Feature, Framework } from './pipeline/seams.ts'
import type { PlainReader, RequestReader } from './requests/reader.ts'
import { whenAnswered } from './requests/upgrade.ts'

export { type AnswerTypes, answers } from '../features/answers/index.ts'
export { anyQuota } from '../features/any-quota/index.ts'
export { type BlockTypes, blocks } from '../features/blocks/index.ts'
export { type ByKeyTypes, byKey } from '../features/by-key/index.ts'
export { type CostTypes, costs } from '../features/costs/index.ts'
export { type EventTypes, events } from '../features/events/index.ts'
export type { HeaderTypes } from '../features/header-forms/index.ts'
export { type MatchingTypes, matching } from '../features/matching/index.ts'
export { type PartitionTypes, partitions } from '../features/partitions/index.ts'
export { type QuotaTypes, quotasByRequest } from '../features/quotas-by-request/index.ts'
export { type SelectorTypes, selectors } from '../features/selectors/index.ts'
export type { SettlingTypes } from '../features/settling/index.ts'
export { settled } from '../features/settling/open-corrections.ts'
export { type SeveralTypes, several } from '../features/several/index.ts'
export { type ShadowTypes, shadow } from '../features/shadow/index.ts'
export { type SpillTypes, spill } from '../features/spill/index.ts'
export { type StoreTypes, stores } from '../features/stores/index.ts'
export { type TrustedProxiesTypes, trustedProxies } from '../features/trusted-proxies/index.ts'
export { type WaitingTypes, waiting } from '../features/waiting/index.ts'
export { plainMissing } from './headers/plain-join.ts'
export type { PlainGuard } from './pipeline/guard.ts'
export type { AdapterParts, LimitOf } from './pipeline/parts.ts'
export type { Feature, Framework, OptionTypes } from './pipeline/seams.ts'
export type { RequestDecision, Verdict } from './pipeline/verdict.ts'

/** All members of a union. */
type All<U> = (U extends unknown ? (each: U) => void : never) extends (each: infer I) => void ? I : never

/** The options of features, and their calls, with the types of a framework. */
type TypesOf<F, K extends Framework> = F extends Feature<infer T> ? T & K : never

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
type PolicyOf<F, K extends Framework> = PolicyWith<K['request'], All<TypesOf<F, K>['policy'] | object>>

/** A list of policies, with the feature for several. */
type Policies<F, K extends Framework> = [Extract<F, { readonly name: 'several' }>] extends [never]
  ? never
  : { readonly policies: readonly PolicyOf<F, K>[] }

/** The options of a limiter with features. An option of another feature is a type error. */
export type LeanOptions<F, K extends Framework> = PlainLimiterOptions &
  All<TypesOf<F, K>['limiter'] | object> &
  (PolicyOf<F, K> | Policies<F, K>)

/** What a limiter with features can do besides. */
type CallsOf<F, K extends Framework> = All<TypesOf<F, K>['calls'] | object> & {
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOf<F, K>[]): void
}

/** `rateLimit` with features `F`. */
export type LeanRateLimitFor<F, K extends Framework, L> = (options: LeanOptions<F, K>) => L & CallsOf<F, K>

/**
 * Returns `rateLimit` with these features: `createRateLimit(trustedProxies, selectors, matching)`. An option of another feature is
 * a type error, and throws a `QuotaError` that names its feature. Call it once, when the app is built.
 */
export type CreateRateLimit<K extends Framework, L> = <const F extends readonly Feature[]>(
  ...features: F
) => LeanRateLimitFor<F[number], K, L>

/** `headers`, `exposeHeaders`, `jitter` and `unit`: what headers report, and in which form. */
export const headerForms: Feature<HeaderTypes> = /* @__PURE__ */ withParts(forms, { join: joinHeaders })
/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: Feature<SettlingTypes> = /* @__PURE__ */ withParts(corrections, { whenAnswered })

/** A feature with what an adapter has for it. */
export function withParts<F extends Feature>(feature: F, parts: object): F {
  return { ...feature, parts: { ...feature.parts, ...parts } }
}

/**
 * Builds `createRateLimit` of an adapter: of what every limiter reads of a request, the store of limiters that only consume, the
 * function that makes middleware of a guard, and what this needs without features.
 */
/* @__NO_SIDE_EFFECTS__ */
export function creatorOf<K extends Framework, P extends AdapterParts<K['request']>, L extends object>(
  reader: PlainReader<K['request']>,
  defaultStore: () => Store,
  limitOf: LimitOf<K['request'], K['response'], P, L>,
  plainParts: Partial<P> = {},
): CreateRateLimit<K, L> {
  return (...features) => {
    const all = features.map(partsOf)
    const parts: P = Object.assign({ join: plainJoin }, plainParts, ...all)
    const read: RequestReader<K['request']> = Object.assign({}, reader, ...all.map((each) => each.reader))
    const pipeline = install([plain, ...inOrder(features)])
    return (options) => {
      const guard = guardOf<K['request'], K['response']>(pipeline, options, read, parts.memoryStore ?? defaultStore)
      return limitOf(guard, parts) as never
    }
  }
}

function partsOf(feature: Feature): Partial<AdapterParts<unknown>> {
  if ((feature as Partial<Feature> | undefined)?.layers) return feature.parts ?? {}
  throw new QuotaError('ERR_SPILLWAY_OPTION', `createRateLimit takes features; got ${formatValue(feature)}.`)
}
