// What the lean entry of every adapter exports beside its own names: quotas, and the features that are alike in all of them. Who does
// not name a feature bundles nothing of it. It exports the types of its features, too: see adapter.ts.

import * as core from '@spillway/core/http/lean'
import { memoryStore } from './store.ts'

export {
  type AnswerTypes,
  answers,
  type BlockTypes,
  type ByKeyTypes,
  type CostTypes,
  type CreateRateLimit,
  costs,
  type EventTypes,
  events,
  type Feature,
  type Framework,
  type HeaderTypes,
  headerForms,
  type LeanOptions,
  type LeanRateLimitFor,
  type MatchingTypes,
  matching,
  type OptionTypes,
  type PartitionTypes,
  type PlainLimiterOptions,
  type PlainPolicyOptions,
  partitions,
  type QuotaTypes,
  quotasByRequest,
  type RequestDecision,
  type SelectorTypes,
  type SettlingTypes,
  type SeveralTypes,
  type ShadowTypes,
  type SpillTypes,
  type StoreTypes,
  settled,
  several,
  shadow,
  spill,
  type TrustedProxiesTypes,
  trustedProxies,
  type WaitingTypes,
  waiting,
} from '@spillway/core/http/lean'
export { perDay, perHour, perMinute, perSecond } from '@spillway/core/lean'

/** `blocks`: keys that are blocked by hand, with the feature `byKey` or by another limiter on the same store. It needs `several`. */
export const blocks: core.Feature<core.BlockTypes> = /* @__PURE__ */ core.withParts(core.blocks, { memoryStore })
/** `peek`, `charge`, `refund`, `reset`, `block` and more: the counts of a key, outside of requests. */
export const byKey: core.Feature<core.ByKeyTypes> = /* @__PURE__ */ core.withParts(core.byKey, { memoryStore })
/** `store`, `deadline`, `onStoreError`, `replicas`, `onThreshold`: any store, and several of them. */
export const stores: core.Feature<core.StoreTypes> = /* @__PURE__ */ core.withParts(core.stores, { memoryStore })
/** Any quota, such as `fixedWindow` and `slidingWindow`: without it, the store in memory has token buckets only. */
export const anyQuota: core.Feature = /* @__PURE__ */ core.withParts(core.anyQuota, { memoryStore })
/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: core.Feature<core.SettlingTypes> = /* @__PURE__ */ core.withParts(core.settling, { memoryStore })
