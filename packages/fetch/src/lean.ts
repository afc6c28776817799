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
import { plainReader, routeReader } from './reader.ts'
import { settler } from './sent.ts'

// `rateLimit` with the features that an app names, for bundles that have no others.

export * from '@spillway/memory/lean-adapter'
export type { LeanRateLimit } from './middleware.ts'
export { decisionOf } from './reader.ts'

/** The types of handlers of fetch requests. */
export interface FetchTypes extends Framework {
  readonly request: Request
  readonly response: Response
  readonly answer: undefined
}

/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: Feature<SelectorTypes> = /* @__PURE__ */ withParts(selectorsOfCore, { reader: routeReader })
/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: Feature<SettlingTypes> = /* @__PURE__ */ withParts(settlingInMemory, { settler })

/** Returns `rateLimit` with features: `createRateLimit(trustedProxies, selectors, matching)`. */
export const createRateLimit: CreateRateLimit<FetchTypes, LeanRateLimit> = /* @__PURE__ */ creatorOf(
  plainReader,
  memoryStore,
  limitOf,
)

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: LeanRateLimitFor<never, FetchTypes, LeanRateLimit> = /* @__PURE__ */ createRateLimit()
