import { ALL_PARTS, type HttpLimiter, httpGuard, type RateLimitOptions as Options } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { Request, Response } from 'express'
import { type Handler, limitOf } from './middleware.ts'
import { reader } from './reader.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<Request, Response, Name>

/** The middleware, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string> extends Handler, HttpLimiter<Request, Response, Name> {}

/**
 * Returns middleware that limits requests: by default, each client address, in memory. Throws a `QuotaError` if an option
 * is invalid.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<Request, Response, Name>(options, reader, memoryStore)
  return limitOf(guard, ALL_PARTS) as RateLimit<Name>
}
