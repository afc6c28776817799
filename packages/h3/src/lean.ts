import { isAbandoned } from '@spillway/core/http'
import * as core from '@spillway/core/http/lean'
import { consumingStore } from '@spillway/memory/lean'
import { settling as settlingInMemory } from '@spillway/memory/lean-adapter'
import type { H3Event } from 'h3'
import { type LeanRateLimit, limitOf } from './middleware.ts'
import { contextOf, listeningReader, plainReader, responseReader, routeReader } from './reader.ts'
import { whenSent } from './sent.ts'

// `rateLimit` with the features that an app names, for bundles that have no others.

export * from '@spillway/memory/lean-adapter'
export { decisionOf, type LeanRateLimit } from './middleware.ts'

/** The types of h3. */
export interface H3Types extends core.Framework<H3Event, H3Event, undefined> {}

/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: core.Feature<core.SelectorTypes> = /* @__PURE__ */ core.withParts(core.selectors, {
  reader: routeReader,
})
/** `onDenied` and `problem`: how denied requests are answered. */
export const answers: core.Feature<core.AnswerTypes> = /* @__PURE__ */ core.withParts(core.answers, {
  reader: responseReader,
})
/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: core.Feature<core.SettlingTypes> = /* @__PURE__ */ core.withParts(settlingInMemory, {
  whenSent,
  reader: responseReader,
})
/** `maxWait`, and quotas with a queue: requests wait for their turn. */
export const waiting: core.Feature<core.WaitingTypes> = /* @__PURE__ */ core.withParts(core.waiting, {
  reader: listeningReader,
})

const isClosed = (event: H3Event): boolean => isAbandoned(event.req, contextOf(event))

/** Returns `rateLimit` with features: `createRateLimit(trustedProxies, selectors, matching)`. */
export const createRateLimit: core.CreateRateLimit<H3Types, LeanRateLimit> = /* @__PURE__ */ core.creatorOf(
  plainReader,
  isClosed,
  consumingStore,
  limitOf,
)

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: core.LeanRateLimitFor<never, H3Types, LeanRateLimit> = /* @__PURE__ */ core.rateLimitOf(
  plainReader,
  isClosed,
  consumingStore,
  limitOf,
)
