import { missingHeaders } from '@spillway/core/http'
import {
  type AnswerTypes,
  answers as answersOfCore,
  type CreateRateLimit,
  creatorOf,
  type Feature,
  type Framework,
  type HeaderTypes,
  headerForms as headerFormsOfCore,
  type LeanRateLimitFor,
  plainMissing,
  type SelectorTypes,
  type SettlingTypes,
  selectors as selectorsOfCore,
  withParts,
} from '@spillway/core/http/lean'
import { memoryStore } from '@spillway/memory/lean'
import { settling as settlingInMemory } from '@spillway/memory/lean-adapter'
import type { Context } from 'hono'
import { answered } from './answered.ts'
import { type LeanRateLimit, limitOf } from './middleware.ts'
import { plainReader } from './plain-reader.ts'
import { responseReader, routeReader } from './reader.ts'
import { settlesLater } from './sent.ts'

// `rateLimit` with the features that an app names, for bundles that have no others.

export * from '@spillway/memory/lean-adapter'
export { decisionOf, type LeanRateLimit } from './middleware.ts'

/** The types of Hono. */
export interface HonoTypes extends Framework {
  readonly request: Context
  readonly response: Context
  readonly answer: Context
}

/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: Feature<SelectorTypes> = /* @__PURE__ */ withParts(selectorsOfCore, { reader: routeReader })
/** `headers`, `exposeHeaders`, `jitter` and `unit`: what headers report, and in which form. */
export const headerForms: Feature<HeaderTypes> = /* @__PURE__ */ withParts(headerFormsOfCore, {
  missing: missingHeaders,
})
/** `onDenied` and `problem`: how denied requests are answered. */
export const answers: Feature<AnswerTypes> = /* @__PURE__ */ withParts(answersOfCore, {
  answered,
  reader: responseReader,
})
/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: Feature<SettlingTypes> = /* @__PURE__ */ withParts(settlingInMemory, {
  settlesLater,
  reader: responseReader,
})

/** Returns `rateLimit` with features: `createRateLimit(trustedProxies, selectors, matching)`. */
export const createRateLimit: CreateRateLimit<HonoTypes, LeanRateLimit> = /* @__PURE__ */ creatorOf(
  plainReader,
  memoryStore,
  limitOf,
  { missing: plainMissing },
)

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: LeanRateLimitFor<never, HonoTypes, LeanRateLimit> = /* @__PURE__ */ createRateLimit()
