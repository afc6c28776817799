import type { IncomingMessage, ServerResponse } from 'node:http'
import { isNodeClosed, nodeListeningReader, nodePlainReader, nodeRouteReader } from '@spillway/core/http'
import * as core from '@spillway/core/http/lean'
import { consumingStore } from '@spillway/memory/lean'
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
/** `maxWait`, and quotas with a queue: requests wait for their turn. */
export const waiting: core.Feature<core.WaitingTypes> = /* @__PURE__ */ core.withParts(core.waiting, {
  reader: nodeListeningReader,
})

/** Returns `rateLimit` with features: `createRateLimit(trustedProxies, selectors, matching)`. */
export const createRateLimit: core.CreateRateLimit<NodeTypes, LeanRateLimit> = /* @__PURE__ */ core.creatorOf(
  nodePlainReader,
  isNodeClosed,
  consumingStore,
  limitOf,
)

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: core.LeanRateLimitFor<never, NodeTypes, LeanRateLimit> = /* @__PURE__ */ core.rateLimitOf(
  nodePlainReader,
  isNodeClosed,
  consumingStore,
  limitOf,
)
