import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type AdapterParts,
  type DecisionReader,
  type LimitOf,
  nodeMiddleware,
  type RequestDecision,
  withGuard,
} from '@spillway/core/http'
import type { Request, Response } from 'express'

declare global {
  namespace Express {
    interface Request {
      /** The decision of `rateLimit`; undefined if the request was not counted. */
      rateLimit?: RequestDecision | undefined
    }
  }
}

/** With the types of Node, so that later handlers of a route keep the types of its parameters. */
export type Handler = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void

/** The middleware of a lean entry. */
export interface LeanRateLimit extends Handler, DecisionReader<Request> {}

/** Makes middleware of a guard. */
export const limitOf: LimitOf<Request, Response, AdapterParts<Request>, LeanRateLimit> = (guard, parts) => {
  const middleware: object = nodeMiddleware(guard, parts, true)
  return withGuard(middleware as LeanRateLimit, guard)
}

/** The last decision of `rateLimit` about a request; undefined if the request was not counted. */
export const decisionOf = (req: Request): RequestDecision | undefined => req.rateLimit
