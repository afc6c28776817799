import type { Quota } from '../algorithms/quota-types.ts'
import type { Awaitable } from '../common/maybe-promise.ts'
import type { Logger } from '../common/warn.ts'
import type { AddressOptions } from './pipeline/request-sources.ts'
import type { Feature, Framework } from './pipeline/seams.ts'

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
