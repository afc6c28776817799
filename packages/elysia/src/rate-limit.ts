import {
  ALL_PARTS,
  type ByKey,
  httpGuard,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { AnyElysia } from 'elysia'
import { limitOf } from './middleware.ts'
import { type RequestContext, reader } from './reader.ts'
import { settleLater } from './sent.ts'
import { settleIn } from './settle-in.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<RequestContext, Response, Name, undefined>

/** The plugin, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string> extends ByKey<Name> {
  /** Limits every request to an app, with a route or without: pass it to `app.use`. */
  <App extends AnyElysia>(app: App): App
  /**
   * This limiter's decision about a request, with its policy names as types; undefined if the request was not counted.
   */
  decisionOf(request: Request): RequestDecision<Name> | undefined
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<RequestContext, Response, string, undefined>[]): void
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
