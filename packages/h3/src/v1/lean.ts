import * as core from '@spillway/core/http/lean'
import { consumingStore } from '@spillway/memory/lean'
import type { H3Event } from 'h3'
import { type LeanRateLimit, limitOf } from './middleware.ts'
import { isEventClosed, listeningReader, plainReader, routeReader } from './reader.ts'

// `rateLimit` with the features that an app names, for bundles that have no others.

export * from '@spillway/memory/lean-adapter'
export { decisionOf, type LeanRateLimit } from './middleware.ts'

/** The types of h3. */
export interface H3Types extends core.Framework<H3Event, H3Event, undefined> {}

/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: core.Feature<core.SelectorTypes> = /* @__PURE__ */ core.withParts(core.selectors, {
  reader: routeReader,
})
/** `maxWait`, and quotas with a queue: requests wait for their turn. */
export const waiting: core.Feature<core.WaitingTypes> = /* @__PURE__ */ core.withParts(core.waiting, {
  reader: listeningReader,
})

/** Returns `rateLimit` with features: `createRateLimit(trustedProxies, selectors, matching)`. */
export const createRateLimit: core.CreateRateLimit<H3Types, LeanRateLimit> = /* @__PURE__ */ core.creatorOf(
  plainReader,
  isEventClosed,
  consumingStore,
  limitOf,
)

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: core.LeanRateLimitFor<never, H3Types, LeanRateLimit> = /* @__PURE__ */ core.rateLimitOf(
  plainReader,
  isEventClosed,
  consumingStore,
  limitOf,
)
