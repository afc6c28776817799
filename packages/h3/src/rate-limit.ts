import { ALL_PARTS, type HttpLimiter, httpGuard, type RateLimitOptions as Options } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { H3, H3Event, Middleware } from 'h3'
import { limitOf } from './middleware.ts'
import { reader } from './reader.ts'
import { whenSent } from './sent.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<H3Event, H3Event, Name, undefined>

/** The middleware, which is also a plugin, with its decisions and a way to replace its policies. */
export interface RateLimit<Name extends string = string>
  extends Middleware,
    HttpLimiter<H3Event, H3Event, Name, undefined> {
  /** As a plugin, it limits the whole app. */
  (app: H3): void
}

/**
 * Returns middleware for `app.use`, routes and Nitro, which is also a plugin for `app.register`. It limits requests: by
 * default, each client address, in memory. Throws a `QuotaError` if an option is invalid.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<H3Event, H3Event, Name, undefined>(options, reader, memoryStore)
  return limitOf(guard, { ...ALL_PARTS, whenSent }) as RateLimit<Name>
}
