import { joinHeaders, missingHeaders, type RequestReader } from '@spillway/core/http'
import * as core from '@spillway/core/http/lean'
import { memoryStore } from '@spillway/memory'
import { memoryStore as leanStore } from '@spillway/memory/lean'
import type { Context, MiddlewareHandler } from 'hono'
import { answered } from './answered.ts'
import { middlewareOf, type Parts } from './middleware.ts'
import { plainReader } from './plain-reader.ts'
import { responseReader, routeReader } from './reader.ts'
import { settlesLater } from './sent.ts'

// `rateLimit` with the features that an app names, for bundles that have no others.

export { settled } from '@spillway/core/http/lean'
export { perDay, perHour, perMinute, perSecond } from '@spillway/memory/lean'

/** The decision of `rateLimit` about a request, the last one if there are several; undefined if the request was not counted. */
export const decisionOf = (c: Context): core.RequestDecision | undefined => c.get('rateLimit')

/** A feature, with what it needs of the adapter. */
interface InstalledFeature extends core.Feature {
  readonly parts?: Partial<Parts>
}

/** A feature, with the types of its options: for all policies, and for each policy. */
export interface HonoFeature<Limiter extends object = object, Policy extends object = object>
  extends InstalledFeature,
    core.OptionsFeature<Limiter, Policy> {}

/** The middleware of a lean entry. */
export interface LeanRateLimit extends MiddlewareHandler {
  /** This limiter's decision about a request; undefined if the request was not counted. */
  decisionOf(c: Context): core.RequestDecision | undefined
}

/** `trustProxy`: the client's address as trusted proxies report it. */
export const trustedProxies: HonoFeature<core.TrustedProxiesOptions> = core.trustedProxies
/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: HonoFeature<
  core.ClaimsOptions<Context>,
  core.SelectorOptions<Context>
> = /* @__PURE__ */ withParts(core.selectors, { reader: routeReader })
/** `match` and `skip`: which requests are counted. It needs `selectors`. */
export const matching: HonoFeature<core.SkipOptions<Context>, core.MatchOptions<Context>> = core.matching
/** `cost`: the units that a request consumes. It needs `selectors`. */
export const costs: HonoFeature<object, core.CostOptions<Context>> = core.costs
/** `quota` as a function: the quota of a request, such as that of its user's plan. */
export const quotasByRequest: HonoFeature<object, core.QuotaOptions<Context>> = core.quotasByRequest
/** `policies` and `tiers`: several policies. It needs `matching`. */
export const several: HonoFeature<object, core.TierOptions> & { readonly name: 'several' } = core.several
/** `blocks`: keys that are blocked by hand, by a limiter of `@spillway/hono` on the same store. It needs `several`. */
export const blocks: HonoFeature<object, core.BlockOptions> = /* @__PURE__ */ withParts(core.blocks, { memoryStore })
/** `spill`: what one policy denies is consumed from another. It needs `blocks`. */
export const spill: HonoFeature<object, core.SpillOptions> = core.spill
/** `mode: 'shadow'`: a policy that counts and reports, but never denies. It needs `blocks` and `events`. */
export const shadow: HonoFeature<object, core.ModeOptions> = core.shadow
/** `partition`: what identifies a client in headers. */
export const partitions: HonoFeature<object, core.PartitionOptions> = core.partitions
/** `onDecision`, and the diagnostics channel `spillway:decision`. */
export const events: HonoFeature<core.EventOptions<Context>> = core.events
/** `store`, `deadline`, `onStoreError`, `replicas`, `onThreshold`: any store, and several of them. */
export const stores: HonoFeature<core.StoreOptions & core.OneStoreOptions, core.OwnStoreOptions> =
  /* @__PURE__ */ withParts(core.stores, { memoryStore })
/** Any quota, such as `fixedWindow` and `slidingWindow`: without it, the store in memory has token buckets only. */
export const anyQuota: HonoFeature = /* @__PURE__ */ withParts({ name: 'anyQuota', layers: {} }, { memoryStore })
/** `maxWait`, and quotas with a queue. It needs `stores`. */
export const waiting: HonoFeature<core.WaitingOptions> = core.waiting
/** `headers`, `exposeHeaders`, `jitter` and `unit`: what headers report, and in which form. */
export const headerForms: HonoFeature<core.HeaderOptions, core.UnitOptions> = /* @__PURE__ */ withParts(
  core.headerForms,
  { join: joinHeaders, missing: missingHeaders },
)
/** `onDenied` and `problem`: how denied requests are answered. */
export const answers: HonoFeature<
  Pick<core.OnDeniedOptions<Context, Context>, 'onDenied'>,
  core.OnDeniedOptions<Context, Context> & core.ProblemOptions
> = /* @__PURE__ */ withParts(core.answers, { answered, reader: responseReader })
/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: HonoFeature<
  core.RefundOptions & core.PreflightOptions,
  core.SettleOptions<Context>
> = /* @__PURE__ */ withParts(core.settling, { settlesLater, memoryStore, reader: responseReader })

function withParts(feature: core.Feature, parts: Partial<Parts>): HonoFeature {
  return { ...feature, parts }
}

/**
 * Returns `rateLimit` with these features: `createRateLimit(trustedProxies, selectors, matching)`. An option of another feature is
 * a type error, and throws a `QuotaError` that names its feature. Call it once, when the app is built.
 */
/* @__NO_SIDE_EFFECTS__ */
export function createRateLimit<const F extends readonly InstalledFeature[]>(
  ...features: F
): (options: core.LeanOptions<Context, F[number]>) => LeanRateLimit {
  const all = features.map(({ parts = {} }) => parts)
  const parts: Parts = Object.assign({ join: core.plainJoin, missing: core.plainMissing }, ...all)
  const reader: RequestReader<Context> = Object.assign({}, plainReader, ...all.map((each) => each.reader))
  const build = core.createGuard<Context, Context>(features, reader, parts.memoryStore ?? leanStore)
  return (options) => {
    const guard = build(options)
    return Object.assign(middlewareOf(guard, parts), { decisionOf: guard.decisionOf })
  }
}

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: (options: core.LeanOptions<Context, never>) => LeanRateLimit = /* @__PURE__ */ createRateLimit()
