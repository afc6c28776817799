import * as core from '@spillway/core/http/lean'
import { consumingStore } from '@spillway/memory/lean'
import { settling as settlingInMemory } from '@spillway/memory/lean-adapter'
import { type LeanRateLimit, limitOf } from './middleware.ts'
import { isOver, listeningReader, plainReader, routeReader } from './reader.ts'
import { settler } from './sent.ts'

// `rateLimit` with the features that an app names, for bundles that have no others.

export * from '@spillway/memory/lean-adapter'
export type { LeanRateLimit } from './middleware.ts'
export { decisionOf } from './reader.ts'

/** The types of handlers of fetch requests. */
export interface FetchTypes extends core.Framework<Request, Response, undefined> {}

/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: core.Feature<core.SelectorTypes> = /* @__PURE__ */ core.withParts(core.selectors, {
  reader: routeReader,
})
/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: core.Feature<core.SettlingTypes> = /* @__PURE__ */ core.withParts(settlingInMemory, { settler })
/** `maxWait`, and quotas with a queue: requests wait for their turn. */
export const waiting: core.Feature<core.WaitingTypes> = /* @__PURE__ */ core.withParts(core.waiting, {
  reader: listeningReader,
})

/** Returns `rateLimit` with features: `createRateLimit(trustedProxies, selectors, matching)`. */
export const createRateLimit: core.CreateRateLimit<FetchTypes, LeanRateLimit> = /* @__PURE__ */ core.creatorOf(
  plainReader,
  isOver,
  consumingStore,
  limitOf,
)

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: core.LeanRateLimitFor<never, FetchTypes, LeanRateLimit> = /* @__PURE__ */ core.rateLimitOf(
  plainReader,
  isOver,
  consumingStore,
  limitOf,
)
