import {
  ALL_PARTS,
  type ByKey,
  httpGuard,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { H3, H3Event, Middleware } from 'h3'
import { limitOf } from './middleware.ts'
import { reader } from './reader.ts'
import { whenSent } from './sent.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<H3Event, H3Event, Name, undefined>

/** The middleware, which is also a plugin, with its decisions and a way to replace its policies. */
export interface RateLimit<Name extends string = string> extends Middleware, ByKey<Name> {
  /** As a plugin, it limits the whole app. */
  (app: H3): void
  /**
   * This limiter's decision about a request, with its policy names as types; undefined if the request was not counted.
   */
  decisionOf(event: H3Event): RequestDecision<Name> | undefined
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<H3Event, H3Event, string, undefined>[]): void
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
