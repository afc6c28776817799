import type { UnitOptions } from '../http/headers/header-item.ts'
import type { ProblemOptions } from '../http/pipeline/problem-types.ts'
import type { AddressOptions } from '../http/pipeline/request-sources.ts'
import type { StoreOptions } from '../policies/store-config.ts'
import type { DeniedOption, OnDeniedOptions } from './answers/denied.ts'
import type { BlockOptions } from './blocks/index.ts'
import type { CostOptions } from './costs/request-cost.ts'
import type { EventOptions } from './events/index.ts'
import type { HeaderOptions } from './header-forms/header-builder.ts'
import type { MatchOptions, SkipOptions } from './matching/index.ts'
import type { PartitionOptions } from './partitions/partition.ts'
import type { QuotaOptions } from './quotas-by-request/index.ts'
import type { ClaimsOptions, SelectorOptions } from './selectors/index.ts'
import type { PreflightOptions } from './settling/index.ts'
import type { RefundOptions, SettleOptions } from './settling/settle-options.ts'
import type { TierOptions } from './several/index.ts'
import type { ModeOptions } from './shadow/index.ts'
import type { SpillOptions } from './spill/index.ts'
import type { OneStoreOptions, OwnStoreOptions } from './stores/index.ts'
import type { TrustedProxiesOptions } from './trusted-proxies/index.ts'
import type { WaitingOptions } from './waiting/index.ts'

/** A named quota, with the clients and requests that it counts and the cost of a request. */
export interface PolicyOptions<R, S = unknown, Name extends string = string, A = S>
  extends QuotaOptions<R>,
    SelectorOptions<R>,
    MatchOptions<R>,
    ModeOptions,
    CostOptions<R>,
    SettleOptions<S>,
    ProblemOptions,
    OnDeniedOptions<R, A, Name>,
    UnitOptions,
    PartitionOptions,
    OwnStoreOptions,
    BlockOptions,
    SpillOptions<Name>,
    TierOptions {
  /**
   * The policy's name in headers, problem documents and decisions, and part of its state's name in the store.
   * @default `'default'`
   */
  readonly name?: Name
}

/**
 * The compiler infers names of this type also if a policy has no quota, because that is misspelt. Otherwise it would report the
 * name, which is correct.
 */
interface Named<Name extends string> {
  readonly name?: Name
}

/** Options for all policies of a limiter. */
interface CommonOptions<R, Name extends string, A>
  extends TrustedProxiesOptions,
    AddressOptions,
    ClaimsOptions<R>,
    SkipOptions<R>,
    RefundOptions,
    PreflightOptions,
    HeaderOptions,
    StoreOptions,
    OneStoreOptions,
    WaitingOptions,
    EventOptions<R, Name> {
  /**
   * Answers denied requests instead of the problem document. A policy's own `onDenied` comes first.
   * @default a problem document (RFC 9457), status 429 or 503
   */
  readonly onDenied?: DeniedOption<R, A, Name>
}

/**
 * The options of `rateLimit` in every framework: one policy, written flat, or a list of policies. `S` is the response
 * that `settle` reads. `A` is the response with which `onDenied` may answer.
 */
export type RateLimitOptions<R, S = unknown, Name extends string = string, A = S> = CommonOptions<R, Name, A> &
  (
    | (PolicyOptions<R, S, Name, A> & Named<Name> & { readonly policies?: never })
    | ({
        /**
         * Several policies instead of one: a request is allowed if all that apply to it allow it.
         * @default required, or the options of one policy
         */
        readonly policies: readonly (PolicyOptions<R, S, Name, A> & Named<Name>)[]
      } & {
        readonly [K in Exclude<keyof PolicyOptions<R, S>, keyof CommonOptions<R, Name, A>>]?: never
      })
  )
