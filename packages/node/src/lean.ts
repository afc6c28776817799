import type { IncomingMessage, ServerResponse } from 'node:http'
import { nodePlainReader, nodeRouteReader } from '@spillway/core/http'
import {
  type CreateRateLimit,
  creatorOf,
  type Feature,
  type Framework,
  type LeanRateLimitFor,
  type SelectorTypes,
  selectors as selectorsOfCore,
  withParts,
} from '@spillway/core/http/lean'
import { memoryStore } from '@spillway/memory/lean'
import { type LeanRateLimit, limitOf } from './middleware.ts'

// `rateLimit` with the features that an app names, for bundles that have no others.

export * from '@spillway/memory/lean-adapter'
export { decisionOf, type LeanRateLimit } from './middleware.ts'

/** The types of Node. */
export interface NodeTypes extends Framework {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly answer: ServerResponse
}

/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: Feature<SelectorTypes> = /* @__PURE__ */ withParts(selectorsOfCore, { reader: nodeRouteReader })

/** Returns `rateLimit` with features: `createRateLimit(trustedProxies, selectors, matching)`. */
export const createRateLimit: CreateRateLimit<NodeTypes, LeanRateLimit> = /* @__PURE__ */ creatorOf(
  nodePlainReader,
  memoryStore,
  limitOf,
)

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: LeanRateLimitFor<never, NodeTypes, LeanRateLimit> = /* @__PURE__ */ createRateLimit()
