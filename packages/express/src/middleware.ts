import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AdapterParts, type LimitOf, nodeMiddleware, type RequestDecision, withGuard } from '@spillway/core/http'
import type { Request, Response } from 'express'

declare global {
  namespace Express {
    interface Request {
      /** The decision of `rateLimit`; undefined if the request was not counted. */
      rateLimit?: RequestDecision | undefined
    }
  }
}

/** The middleware of a lean entry. */
export interface LeanRateLimit {
  /** The types of Node, so that later handlers of a route keep the types of its parameters. */
  (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void): void
  /** This limiter's decision about a request; undefined if the request was not counted. */
  decisionOf(req: Request): RequestDecision | undefined
}

/** Makes middleware of a guard. */
export const limitOf: LimitOf<Request, Response, AdapterParts<Request>, LeanRateLimit> = (guard, parts) => {
  const middleware: object = nodeMiddleware(guard, parts, true)
  return withGuard(middleware as LeanRateLimit, guard)
}

/**
 * The decision of `rateLimit` about a request, the last one if there are several; undefined if the request was not
 * counted.
 */
export const decisionOf = (req: Request): RequestDecision | undefined => req.rateLimit
