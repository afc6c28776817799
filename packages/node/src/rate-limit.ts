import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  ALL_PARTS,
  type HttpLimiter,
  httpGuard,
  type NodeNext,
  nodeReader,
  type RateLimitOptions as Options,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import { type AnyRequest, type AnyResponse, limitOf } from './middleware.ts'

/** The options of `rateLimit`. Over HTTP/2, their functions get the request and the response of `node:http2`. */
export type RateLimitOptions<Name extends string = string> = Options<IncomingMessage, ServerResponse, Name>

/** The middleware, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string>
  extends HttpLimiter<IncomingMessage, ServerResponse, Name, ServerResponse, AnyRequest> {
  /**
   * Calls `next()` if the request is allowed, and answers it otherwise. If the limiter fails, it calls `next(error)`, or
   * answers with 500 if `next` takes no parameter.
   */
  (req: AnyRequest, res: AnyResponse, next: NodeNext): void
  /** Resolves to whether the request is allowed. If it is not, it has been answered. Never rejects. */
  (req: AnyRequest, res: AnyResponse): Promise<boolean>
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
  return limitOf(guard, ALL_PARTS) as RateLimit<Name>
}
