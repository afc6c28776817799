export { spilling } from '../checks/spill.ts'
export type { Targets } from '../policies/spill-targets.ts'
export type { StoreErrorOption } from '../stores/failure-mode.ts'
export { inNetworks, isAddress } from './addresses/address.ts'
export { type ClientReader, clientAddress, type TrustProxy } from './addresses/client-address.ts'
export { ipKey } from './addresses/ip-key.ts'
export type { ByKey, ByKeyOptions, KeyText } from './guard/by-key.ts'
export type { Verdict } from './guard/evaluator.ts'
export type { DecisionEvent } from './guard/events.ts'
export { type Guard, httpGuard } from './guard/guard.ts'
export { settled } from './guard/open-corrections.ts'
export type { RateLimitOptions } from './guard/options.ts'
export type { RequestDecision } from './guard/settlement.ts'
export type { DeniedAnswer, DeniedOption, WebResponse } from './headers/denied.ts'
export type { HeaderForm } from './headers/forms.ts'
export { type Header, isCookie, joinHeaders, missingHeaders, setAnswerHeaders } from './headers/headers.ts'
export type { Denial } from './headers/problem.ts'
export type { RequestSources } from './keys/request-sources.ts'
export { type KeyOption, type KeySelector, keyReader } from './keys/selectors.ts'
export { failRequest, type NodeMiddleware, nodeMiddleware } from './node/middleware.ts'
export { nodeReader } from './node/reader.ts'
export type { NodeNext, NodeRequest, NodeResponse } from './node/types.ts'
export { release, responseTo } from './node/upgrade.ts'
export { type Match, type MatchOption, matcher } from './policies/match.ts'
export type { PolicyOptions } from './policies/policy-options.ts'
export { type CostOption, costReader } from './policies/request-cost.ts'
export {
  type Closable,
  hidesBody,
  isOver,
  type Outgoing,
  statusOf,
  whenClosed,
  whenDisconnected,
} from './requests/closed.ts'
export { type ExpressLike, expressQuery, NODE_PARAMETERS } from './requests/express.ts'
export { type FastifyLike, fastifyPath, fastifyTrustsEveryProxy } from './requests/fastify.ts'
export { fetchHeader, nodeHeader } from './requests/headers.ts'
export { RequestParts } from './requests/parts.ts'
export { firstReading, pathBelow, plainPath } from './requests/path.ts'
export type { Query } from './requests/query.ts'
export type { Claims, RequestReader } from './requests/reader.ts'
export { lastValueOf } from './requests/request-state.ts'
export {
  connectionAddress,
  hasHiddenBody,
  incomingOf,
  isAbandoned,
  outgoingOf,
  type RuntimeContext,
  srvxContext,
  whenAbandoned,
} from './requests/runtime.ts'
export { targetOf } from './requests/targets.ts'
export { statusOfThrown } from './requests/thrown.ts'
export { untilRead } from './requests/until-read.ts'
export { type Answered, isUpgrade, UPGRADED, whenAnswered } from './requests/upgrade.ts'
