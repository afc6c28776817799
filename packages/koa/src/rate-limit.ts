import {
  ALL_PARTS,
  type ByKey,
  httpGuard,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { Context, Middleware } from 'koa'
import { limitOf } from './middleware.ts'
import { reader } from './reader.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<Context, Context, Name>

/** The middleware, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string> extends Middleware, ByKey<Name> {
  /**
   * This limiter's decision about a request, with its policy names as types; undefined if the request was not counted.
   */
  decisionOf(ctx: Context): RequestDecision<Name> | undefined
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<Context, Context>[]): void
}

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
