import {
  type CreateRateLimit,
  creatorOf,
  type Feature,
  type Framework,
  type LeanRateLimitFor,
  type SelectorTypes,
  type SettlingTypes,
  selectors as selectorsOfCore,
  withParts,
} from '@spillway/core/http/lean'
import { memoryStore } from '@spillway/memory/lean'
import { settling as settlingInMemory } from '@spillway/memory/lean-adapter'
import { type LeanRateLimit, limitOf } from './middleware.ts'
import { plainReader, type RequestContext, routeReader } from './reader.ts'
import { settleLater } from './sent.ts'
import { settleIn } from './settle-in.ts'

// `rateLimit` with the features that an app names, for bundles that have no others.

export * from '@spillway/memory/lean-adapter'
export { decisionOf, type LeanRateLimit } from './middleware.ts'
export type { RequestContext } from './reader.ts'

/** The types of Elysia. */
export interface ElysiaTypes extends Framework {
  readonly request: RequestContext
  readonly response: Response
  readonly answer: undefined
}

/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: Feature<SelectorTypes> = /* @__PURE__ */ withParts(selectorsOfCore, { reader: routeReader })
/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: Feature<SettlingTypes> = /* @__PURE__ */ withParts(settlingInMemory, { settleLater, settleIn })

/** Returns `rateLimit` with features: `createRateLimit(trustedProxies, selectors, matching)`. */
export const createRateLimit: CreateRateLimit<ElysiaTypes, LeanRateLimit> = /* @__PURE__ */ creatorOf(
  plainReader,
  memoryStore,
  limitOf,
)

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: LeanRateLimitFor<never, ElysiaTypes, LeanRateLimit> = /* @__PURE__ */ createRateLimit()
