import { ALL_PARTS, type HttpLimiter, httpGuard, type RateLimitOptions as Options } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { Context, Middleware } from 'koa'
import { limitOf } from './middleware.ts'
import { reader } from './reader.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<Context, Context, Name>

/** The middleware, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string> extends Middleware, HttpLimiter<Context, Context, Name> {}

/**
 * Returns middleware that limits requests: by default, each client address, in memory. Throws a `QuotaError` if an option
 * is invalid.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<Context, Context, Name>(options, reader, memoryStore)
  return limitOf(guard, ALL_PARTS) as RateLimit<Name>
}
