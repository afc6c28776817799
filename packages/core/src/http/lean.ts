// What the lean entries of adapters are made of: the plain way of a request, and the features that an app names. Such an app
// bundles and runs no other.

import { invalidOption } from '../common/errors.ts'
import { headerForms as forms, type HeaderTypes } from '../features/header-forms/index.ts'
import { settling as corrections, type SettlingTypes } from '../features/settling/index.ts'
import type { PreparingStore, Store } from '../stores/store.ts'
import { joinHeaders } from './headers/headers.ts'
import { plainJoin } from './headers/plain-join.ts'
import type { CreateRateLimit, LeanRateLimitFor } from './lean-types.ts'
import { guardOf } from './pipeline/guard.ts'
import { install } from './pipeline/install.ts'
import { inOrder, plain } from './pipeline/lean.ts'
import type { AdapterParts, LimitOf } from './pipeline/parts.ts'
import type { Feature, Framework } from './pipeline/seams.ts'
import { askingIf } from './requests/closed.ts'
import type { PlainReader, RequestReader } from './requests/reader.ts'
import { whenAnswered } from './requests/upgrade.ts'

export { type AnswerTypes, answers } from '../features/answers/index.ts'
export { anyQuota } from '../features/any-quota/index.ts'
export { type BlockTypes, blocks } from '../features/blocks/index.ts'
export { type ByKeyTypes, byKey } from '../features/by-key/index.ts'
export { type CostTypes, costs } from '../features/costs/index.ts'
export { type EventTypes, events } from '../features/events/index.ts'
export type { HeaderTypes } from '../features/header-forms/index.ts'
export { type MatchingTypes, matching } from '../features/matching/index.ts'
export { type PartitionTypes, partitions } from '../features/partitions/index.ts'
export { type QuotaTypes, quotasByRequest } from '../features/quotas-by-request/index.ts'
export { type SelectorTypes, selectors } from '../features/selectors/index.ts'
export type { SettlingTypes } from '../features/settling/index.ts'
export { settled } from '../features/settling/open-corrections.ts'
export { type SeveralTypes, several } from '../features/several/index.ts'
export { type ShadowTypes, shadow } from '../features/shadow/index.ts'
export { type SpillTypes, spill } from '../features/spill/index.ts'
export { type StoreTypes, stores } from '../features/stores/index.ts'
export { type TrustedProxiesTypes, trustedProxies } from '../features/trusted-proxies/index.ts'
export { type WaitingTypes, waiting } from '../features/waiting/index.ts'
export { plainMissing } from './headers/plain-join.ts'
export type {
  CreateRateLimit,
  LeanOptions,
  LeanRateLimitFor,
  PlainLimiterOptions,
  PlainPolicyOptions,
} from './lean-types.ts'
export type { PlainGuard } from './pipeline/guard.ts'
export type { AdapterParts, LimitOf } from './pipeline/parts.ts'
export type { Feature, Framework, OptionTypes } from './pipeline/seams.ts'
export type { RequestDecision, Verdict } from './pipeline/verdict.ts'

/** `headers`, `exposeHeaders`, `jitter` and `unit`: what headers report, and in which form. */
export const headerForms: Feature<HeaderTypes> = /* @__PURE__ */ withParts(forms, { join: joinHeaders })
/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: Feature<SettlingTypes> = /* @__PURE__ */ withParts(corrections, { whenAnswered })

/** A feature with what an adapter has for it. */
export function withParts<F extends Feature>(feature: F, parts: object): F {
  return { ...feature, parts: { ...feature.parts, ...parts } }
}

/** Makes the store of a limiter that is given none. */
type DefaultStore = () => Store | Pick<PreparingStore, 'prepareSync' | 'clock'>

/**
 * Builds `rateLimit` of an adapter: of what every limiter reads of a request, whether a client has disconnected, the store of
 * limiters that only consume, the function that makes middleware of a guard, and what this needs without features.
 */
/* @__NO_SIDE_EFFECTS__ */
export function rateLimitOf<K extends Framework, P extends AdapterParts<K['request']>, L extends object>(
  reader: PlainReader<K['request']>,
  isClosed: (request: K['request']) => boolean,
  defaultStore: DefaultStore,
  limitOf: LimitOf<K['request'], K['response'], P, L>,
  parts: Partial<P> = {},
  features: readonly Feature[] = [],
): LeanRateLimitFor<never, K, L> {
  const read = { onClientClosed: askingIf(isClosed), ...reader } as RequestReader<K['request']>
  const all = { join: plainJoin, ...parts } as P
  const pipeline = install([plain, ...features])
  return (options) =>
    limitOf(guardOf<K['request'], K['response']>(pipeline, options, read, defaultStore as () => Store), all) as never
}

/** Builds `createRateLimit` of an adapter, of the same. */
/* @__NO_SIDE_EFFECTS__ */
export function creatorOf<K extends Framework, P extends AdapterParts<K['request']>, L extends object>(
  reader: PlainReader<K['request']>,
  isClosed: (request: K['request']) => boolean,
  defaultStore: DefaultStore,
  limitOf: LimitOf<K['request'], K['response'], P, L>,
  plainParts: Partial<P> = {},
): CreateRateLimit<K, L> {
  return (...features) => {
    const all = features.map(partsOf)
    const parts: P = Object.assign({}, plainParts, ...all)
    const read: PlainReader<K['request']> = Object.assign({}, reader, ...all.map((each) => each.reader))
    return rateLimitOf<K, P, L>(
      read,
      isClosed,
      parts.memoryStore ?? defaultStore,
      limitOf,
      parts,
      inOrder(features),
    ) as never
  }
}

function partsOf(feature: Feature): Partial<AdapterParts<unknown>> {
  if ((feature as Partial<Feature> | undefined)?.layers) return feature.parts ?? {}
  throw invalidOption('createRateLimit takes features', feature)
}
