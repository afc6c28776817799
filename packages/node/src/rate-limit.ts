import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import {
  type ByKey,
  httpGuard,
  type NodeNext,
  nodeMiddleware,
  nodeReader,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
} from '@spillway/core/http'
import { calledByHand, checkLogger, hasMethod } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'

/** The options of `rateLimit`. Over HTTP/2, their functions get the request and the response of `node:http2`. */
export type RateLimitOptions<Name extends string = string> = Options<IncomingMessage, ServerResponse, Name>

/** A request of `node:http` or `node:http2`. */
type AnyRequest = IncomingMessage | Http2ServerRequest

/** What a request is answered on: a response, or the connection of an upgrade. */
type AnyResponse = ServerResponse | Http2ServerResponse | Duplex

/** The middleware, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string> extends ByKey<Name> {
  /**
   * Calls `next()` if the request is allowed, and answers it otherwise. If the limiter fails, it calls `next(error)`, or
   * answers with 500 if `next` takes no parameter.
   */
  (req: AnyRequest, res: AnyResponse, next: NodeNext): void
  /** Resolves to whether the request is allowed. If it is not, it has been answered. Never rejects. */
  (req: AnyRequest, res: AnyResponse): Promise<boolean>
  /**
   * This limiter's decision about a request, with its policy names as types; undefined if the request was not counted.
   */
  decisionOf(req: AnyRequest): RequestDecision<Name> | undefined
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<IncomingMessage, ServerResponse>[]): void
}

/**
 * Returns middleware that limits requests: by default, each client address, in memory. Throws a `QuotaError` if an option
 * is invalid.
 *
 * @example
 * const limit = rateLimit({ quota: perMinute(100) })
 * createServer((req, res) => limit(req, res, () => res.end('Hello.')))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<IncomingMessage, ServerResponse, Name>(options, nodeReader, memoryStore)
  const middleware = nodeMiddleware(guard, checkLogger(options.logger))
  // Called by an event of a server, it could neither pass requests on nor keep them from other listeners.
  function limit(this: unknown, req: IncomingMessage, res: unknown, next?: NodeNext): unknown {
    if (hasMethod(this, 'listen')) throw calledByHand('(req, res, next)', [req, res, next])
    return middleware(req, res, next as NodeNext)
  }
  const { byKey, replace, decisionOf } = guard
  return Object.assign(limit as RateLimit<Name>, { ...byKey, replace, decisionOf }) as RateLimit<Name>
}

/**
 * The decision of `rateLimit` about a request, the last one if there are several; undefined if the request was not
 * counted.
 */
export const decisionOf = (req: AnyRequest): RequestDecision | undefined =>
  (req as { rateLimit?: RequestDecision }).rateLimit
