import {
  httpGuard,
  isOver,
  joinHeaders,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type Refusal,
  type RequestDecision,
  type Verdict,
  whenClosed,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { reader } from './reader.ts'

declare global {
  namespace Express {
    interface Request {
      /** What `rateLimit` decided; undefined where the request was not counted. */
      rateLimit?: RequestDecision | undefined
    }
  }
}

/** What `rateLimit` takes. */
export type RateLimitOptions<Name extends string = string> = Options<Request, Response, Name>

/** The middleware, what it decides, and a way to put other policies in force without losing counts. */
export interface RateLimit<Name extends string = string> extends RequestHandler {
  /** What this limiter has decided about a request, by the names of its policies. */
  decisionOf(req: Request): RequestDecision<Name> | undefined
  /** Puts other policies in force for the requests to come; those that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<Request, Response>[]): void
}

/**
 * Limits requests, by client IP and in memory unless told otherwise.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<Request, Response, Name>(options, reader, memoryStore)
  const middleware: RequestHandler = (req, res, next) => {
    const verdict = guard(req)
    if (!(verdict instanceof Promise)) follow(verdict, req, res, next)
    else verdict.then((known) => follow(known, req, res, next)).catch((error: unknown) => isOver(res) || next(error))
  }
  return Object.assign(middleware, { replace: guard.replace, decisionOf: guard.decisionOf })
}

/** Does what a verdict says; nothing but giving back where the response is over. */
function follow(verdict: Verdict<Response>, req: Request, res: Response, next: NextFunction): void {
  const { decision, headers, refusal, answer, after, discard } = verdict
  if (isOver(res)) {
    discard()
    return
  }
  // Asked of the request alone: Express puts a prototype of its own behind each, where to find nothing takes long.
  const limited = Object.hasOwn(req, 'rateLimit')
  if (decision) req.rateLimit = decision
  for (const [name, value] of joinHeaders(headers, limited, (name) => res.getHeader(name))) res.setHeader(name, value)
  if (after) whenClosed(res, () => void after(res.statusCode, res))
  if (refusal === undefined) {
    next()
    return
  }
  const own = answer ? answer(res) : refusal
  if (!(own instanceof Promise)) refuse(res, own)
  else own.then((known) => refuse(res, known)).catch((error: unknown) => isOver(res) || next(error))
}

/** Answers, unless `onDenied` has answered by itself. */
function refuse(res: Response, refusal: Refusal | undefined): void {
  if (refusal === undefined || isOver(res)) return
  const { status, contentType, headers, body } = refusal
  for (const [name, value] of headers) res.setHeader(name, value)
  // Not by send(), which would add a charset that the media type does not have.
  res.status(status).setHeader('Content-Type', contentType)
  res.end(body)
}

/** What `rateLimit` decided about a request, the last one if there are several; undefined if it was not counted. */
export const decisionOf = (req: Request): RequestDecision | undefined => req.rateLimit
