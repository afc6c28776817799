import { ALL_PARTS, type HttpLimiter, httpGuard, type RateLimitOptions as Options } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { H3Event } from 'h3'
import { type Handler, limitOf } from './middleware.ts'
import { reader } from './reader.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<H3Event, H3Event, Name, undefined>

/** The event handler, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string>
  extends Handler,
    HttpLimiter<H3Event, H3Event, Name, undefined> {}

/**
 * Returns an event handler for `app.use`, for the folder `server/middleware` of Nuxt and Nitro 2, and for `onRequest` of a
 * handler. It limits requests: by default, each client address, in memory. In a handler of your own, call it first, and
 * return if `event.handled` is true. Throws a `QuotaError` if an option is invalid.
 *
 * @example
 * export default rateLimit({ quota: perMinute(100) })
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<H3Event, H3Event, Name, undefined>(options, reader, memoryStore)
  return limitOf(guard, ALL_PARTS) as RateLimit<Name>
}
