export { spilling, type Targets } from '../checks/spill.ts'
export type { StoreErrorOption } from '../stores/failure-mode.ts'
export { isAddress } from './address.ts'
export type { ByKey, ByKeyOptions, KeyText } from './by-key.ts'
export { type ClientReader, clientAddress, type TrustProxy } from './client-address.ts'
export { type Closable, hidesBody, isOver, type Outgoing, statusOf, whenClosed } from './closed.ts'
export type { DeniedAnswer, DeniedOption, WebResponse } from './denied.ts'
export type { Verdict } from './evaluator.ts'
export type { DecisionEvent } from './events.ts'
export type { HeaderForm } from './forms.ts'
export { type Guard, httpGuard } from './guard.ts'
export { type Header, joinHeaders, missingHeaders } from './headers.ts'
export { ipKey } from './ip-key.ts'
export { type Match, type MatchOption, matcher } from './match.ts'
export { settled } from './open-corrections.ts'
export type { RateLimitOptions } from './options.ts'
export { plainPath } from './path.ts'
export type { PolicyOptions } from './policy-options.ts'
export type { Denial } from './problem.ts'
export { type Claims, firstValue, type RequestReader } from './reader.ts'
export { type CostOption, costReader } from './request-cost.ts'
export type { RequestSources } from './request-sources.ts'
export {
  connectionAddress,
  hasHiddenBody,
  incomingOf,
  isAbandoned,
  outgoingOf,
  type RuntimeContext,
  srvxContext,
  whenAbandoned,
} from './runtime.ts'
export { type KeyOption, type KeySelector, keyReader } from './selectors.ts'
export type { RequestDecision } from './settlement.ts'
