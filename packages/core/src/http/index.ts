export type { DeniedAnswer, DeniedOption, WebResponse } from '../features/answers/denied.ts'
export type { ByKey, ByKeyOptions, KeyText } from '../features/by-key/calls.ts'
export { type CostOption, costReader } from '../features/costs/request-cost.ts'
export type { DecisionEvent } from '../features/events/events.ts'
export type { HeaderForm } from '../features/header-forms/forms.ts'
export { ALL_PARTS, type Guard, type HttpLimiter, httpGuard } from '../features/index.ts'
export { type Match, type MatchOption, matcher } from '../features/matching/match.ts'
export type { PolicyOptions, RateLimitOptions } from '../features/options.ts'
export { type KeyOption, type KeySelector, keyReader } from '../features/selectors/selectors.ts'
export { settled } from '../features/settling/open-corrections.ts'
export { type ClientReader, clientAddress, type TrustProxy } from '../features/trusted-proxies/client-address.ts'
export type { StoreErrorOption } from '../policies/failure-mode.ts'
export { spilling } from '../policies/spill.ts'
export type { Targets } from '../policies/spill-targets.ts'
export { inNetworks, isAddress } from './addresses/address.ts'
export { TRUSTS_EVERY_PROXY } from './addresses/framework-address.ts'
export { ipKey } from './addresses/ip-key.ts'
export { isCookie, setAnswerHeaders } from './headers/answer-headers.ts'
export { type Header, joinHeaders, missingHeaders } from './headers/headers.ts'
export type { Denial } from './headers/problem.ts'
export { failRequest, type NodeMiddleware, nodeMiddleware } from './node/middleware.ts'
export { isNodeClosed, nodeListeningReader, nodePlainReader, nodeReader, nodeRouteReader } from './node/reader.ts'
export type { NodeNext, NodeRequest, NodeResponse } from './node/types.ts'
export { release, responseTo } from './node/upgrade.ts'
export { withGuard } from './pipeline/guard.ts'
export type { AdapterParts, LimitOf } from './pipeline/parts.ts'
export type { RequestSources } from './pipeline/request-sources.ts'
export { CLIENT_CLOSED, type DecisionReader, type RequestDecision, type Verdict } from './pipeline/verdict.ts'
export {
  askingIf,
  type Closable,
  hidesBody,
  isClosed,
  isDisconnected,
  isOver,
  type Outgoing,
  statusOf,
} from './requests/closed.ts'
export { whenClosed, whenDisconnected } from './requests/closing.ts'
export { type ExpressLike, expressQuery, NODE_PARAMETERS } from './requests/express.ts'
export { type FastifyLike, fastifyPath, fastifyTrustsEveryProxy } from './requests/fastify.ts'
export { fetchHeader, nodeHeader, sentHeader } from './requests/headers.ts'
export { RequestParts } from './requests/parts.ts'
export { firstReading, pathBelow, plainPath } from './requests/path.ts'
export { LooseUrl, type Query } from './requests/query.ts'
export type { Claims, PlainReader, RequestReader, RouteReader } from './requests/reader.ts'
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
