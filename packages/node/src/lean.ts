import type { IncomingMessage, ServerResponse } from 'node:http'
import { nodePlainReader, nodeRouteReader } from '@spillway/core/http'
import * as core from '@spillway/core/http/lean'
import { memoryStore } from '@spillway/memory/lean'
import { type LeanRateLimit, limitOf } from './middleware.ts'

// `rateLimit` with the features that an app names, for bundles that have no others.

export * from '@spillway/memory/lean-adapter'
export { decisionOf, type LeanRateLimit } from './middleware.ts'

/** The types of Node. */
export interface NodeTypes extends core.Framework<IncomingMessage, ServerResponse> {}

/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: core.Feature<core.SelectorTypes> = /* @__PURE__ */ core.withParts(core.selectors, {
  reader: nodeRouteReader,
})

/** Returns `rateLimit` with features: `createRateLimit(trustedProxies, selectors, matching)`. */
export const createRateLimit: core.CreateRateLimit<NodeTypes, LeanRateLimit> = /* @__PURE__ */ core.creatorOf(
  nodePlainReader,
  memoryStore,
  limitOf,
)

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: core.LeanRateLimitFor<never, NodeTypes, LeanRateLimit> = /* @__PURE__ */ createRateLimit()
