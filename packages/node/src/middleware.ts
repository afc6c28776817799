import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import {
  type AdapterParts,
  type DecisionReader,
  type LimitOf,
  type NodeNext,
  nodeMiddleware,
  type RequestDecision,
  withGuard,
} from '@spillway/core/http'
import { calledByHand, hasMethod } from '@spillway/core/internal'

/** A request of `node:http` or `node:http2`. */
export type AnyRequest = IncomingMessage | Http2ServerRequest

/** What a request is answered on: a response, or the connection of an upgrade. */
export type AnyResponse = ServerResponse | Http2ServerResponse | Duplex

/** The middleware of a lean entry. */
export interface LeanRateLimit extends DecisionReader<AnyRequest> {
  /**
   * Calls `next()` if the request is allowed, and answers it otherwise. If the limiter fails, it calls `next(error)`, or
   * answers with 500 if `next` takes no parameter.
   */
  (req: AnyRequest, res: AnyResponse, next: NodeNext): void
  /** Resolves to whether the request is allowed. If it is not, it has been answered. Never rejects. */
  (req: AnyRequest, res: AnyResponse): Promise<boolean>
}

/** Makes middleware of a guard. */
export const limitOf: LimitOf<IncomingMessage, ServerResponse, AdapterParts<IncomingMessage>, LeanRateLimit> = (
  guard,
  parts,
) => {
  const middleware = nodeMiddleware(guard, parts)
  // Called by an event of a server, it could neither pass requests on nor keep them from other listeners.
  function limit(this: unknown, req: IncomingMessage, res: unknown, next?: NodeNext): unknown {
    if (hasMethod(this, 'listen')) throw calledByHand('(req, res, next)', [req, res, next])
    return middleware(req, res, next as NodeNext)
  }
  return withGuard(limit as LeanRateLimit, guard)
}

/** The last decision of `rateLimit` about a request; undefined if the request was not counted. */
export const decisionOf = (req: AnyRequest): RequestDecision | undefined =>
  (req as { rateLimit?: RequestDecision }).rateLimit
