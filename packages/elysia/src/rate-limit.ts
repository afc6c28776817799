import { ALL_PARTS, type HttpLimiter, httpGuard, type RateLimitOptions as Options } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { AnyElysia } from 'elysia'
import { limitOf } from './middleware.ts'
import { type RequestContext, reader } from './reader.ts'
import { settleLater } from './sent.ts'
import { settleIn } from './settle-in.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<RequestContext, Response, Name, undefined>

/** The plugin, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string>
  extends HttpLimiter<RequestContext, Response, Name, undefined, Request> {
  /** Limits every request to an app, with a route or without: pass it to `app.use`. */
  <App extends AnyElysia>(app: App): App
}

/**
 * Returns a plugin that limits requests: by default, each client address, in memory. Throws a `QuotaError` if an option
 * is invalid.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<RequestContext, Response, Name, undefined>(options, reader, memoryStore)
  return limitOf(guard, { ...ALL_PARTS, settleLater, settleIn }) as RateLimit<Name>
}
