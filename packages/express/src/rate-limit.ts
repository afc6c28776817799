import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type ByKey,
  type Denial,
  httpGuard,
  isOver,
  joinHeaders,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
  setAnswerHeaders,
  type Verdict,
  whenAnswered,
} from '@spillway/core/http'
import { calledByHand } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { reader } from './reader.ts'

declare global {
  namespace Express {
    interface Request {
      /** The decision of `rateLimit`; undefined if the request was not counted. */
      rateLimit?: RequestDecision | undefined
    }
  }
}

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<Request, Response, Name>

/** The middleware, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string> extends ByKey<Name> {
  /** The types of Node, so that later handlers of a route keep the types of its parameters. */
  (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void): void
  /**
   * This limiter's decision about a request, with its policy names as types; undefined if the request was not counted.
   */
  decisionOf(req: Request): RequestDecision<Name> | undefined
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<Request, Response>[]): void
}

/**
 * Returns middleware that limits requests: by default, each client address, in memory. Throws a `QuotaError` if an option
 * is invalid.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<Request, Response, Name>(options, reader, memoryStore)
  const middleware: RequestHandler = (req, res, next) => {
    if (typeof next !== 'function' || typeof res?.setHeader !== 'function') {
      throw calledByHand('(req, res, next)', [req, res, next])
    }
    const verdict = guard(req)
    if (!(verdict instanceof Promise)) follow(verdict, req, res, next)
    else verdict.then((known) => follow(known, req, res, next)).catch((error: unknown) => isOver(res) || next(error))
  }
  const { byKey, replace, decisionOf } = guard
  return Object.assign(middleware as RateLimit<Name>, { ...byKey, replace, decisionOf })
}

/** Applies a verdict. If the response is over, the units are refunded and nothing else happens. */
function follow(verdict: Verdict<Response>, req: Request, res: Response, next: NextFunction): void {
  const { decision, headers, denial, answer, after, discard } = verdict
  if (isOver(res)) {
    discard()
    return
  }
  // Only the own property is read: Express gives each request a prototype of its own, in which looking up a missing
  // name is slow.
  const limited = Object.hasOwn(req, 'rateLimit')
  if (decision) req.rateLimit = decision
  for (const [name, value] of joinHeaders(headers, limited, (name) => res.getHeader(name))) res.setHeader(name, value)
  if (after) whenAnswered(res, (status, ended) => void after(status, res, ended))
  if (denial === undefined) {
    next()
    return
  }
  const own = answer ? answer(res) : denial
  if (!(own instanceof Promise)) deny(res, own)
  else own.then((known) => deny(res, known)).catch((error: unknown) => isOver(res) || next(error))
}

/** Sends the answer, unless `onDenied` has answered itself. */
function deny(res: Response, denial: Denial | undefined): void {
  if (denial === undefined || isOver(res)) return
  const { status, contentType, headers, body } = denial
  setAnswerHeaders(res, headers)
  // Not with send(), which would add a charset that the media type does not have.
  res.status(status).setHeader('Content-Type', contentType)
  res.end(body)
}

/**
 * The decision of `rateLimit` about a request, the last one if there are several; undefined if the request was not
 * counted.
 */
export const decisionOf = (req: Request): RequestDecision | undefined => req.rateLimit
