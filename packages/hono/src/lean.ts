import { isAbandoned, missingHeaders } from '@spillway/core/http'
import * as core from '@spillway/core/http/lean'
import { consumingStore } from '@spillway/memory/lean'
import { settling as settlingInMemory } from '@spillway/memory/lean-adapter'
import type { Context } from 'hono'
import { answered } from './answered.ts'
import { type LeanRateLimit, limitOf } from './middleware.ts'
import { plainReader } from './plain-reader.ts'
import { listeningReader, responseReader, routeReader } from './reader.ts'
import { settlesLater } from './sent.ts'

// `rateLimit` with the features that an app names, for bundles that have no others.

export * from '@spillway/memory/lean-adapter'
export { decisionOf, type LeanRateLimit } from './middleware.ts'

/** The types of Hono. */
export interface HonoTypes extends core.Framework<Context> {}

/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: core.Feature<core.SelectorTypes> = /* @__PURE__ */ core.withParts(core.selectors, {
  reader: routeReader,
})
/** `headers`, `exposeHeaders`, `jitter` and `unit`: what headers report, and in which form. */
export const headerForms: core.Feature<core.HeaderTypes> = /* @__PURE__ */ core.withParts(core.headerForms, {
  missing: missingHeaders,
})
/** `onDenied` and `problem`: how denied requests are answered. */
export const answers: core.Feature<core.AnswerTypes> = /* @__PURE__ */ core.withParts(core.answers, {
  answered,
  reader: responseReader,
})
/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: core.Feature<core.SettlingTypes> = /* @__PURE__ */ core.withParts(settlingInMemory, {
  settlesLater,
  reader: responseReader,
})
/** `maxWait`, and quotas with a queue: requests wait for their turn. */
export const waiting: core.Feature<core.WaitingTypes> = /* @__PURE__ */ core.withParts(core.waiting, {
  reader: listeningReader,
})

const isClosed = ({ req, env }: Context): boolean => isAbandoned(req.raw, env)

/** Returns `rateLimit` with features: `createRateLimit(trustedProxies, selectors, matching)`. */
export const createRateLimit: core.CreateRateLimit<HonoTypes, LeanRateLimit> = /* @__PURE__ */ core.creatorOf(
  plainReader,
  isClosed,
  consumingStore,
  limitOf,
  { missing: core.plainMissing },
)

/** `rateLimit` without features: one quota, by the client's address or a key function, in memory. */
export const rateLimit: core.LeanRateLimitFor<never, HonoTypes, LeanRateLimit> = /* @__PURE__ */ core.rateLimitOf(
  plainReader,
  isClosed,
  consumingStore,
  limitOf,
  { missing: core.plainMissing },
)
