import {
  ALL_PARTS,
  type HttpLimiter,
  httpGuard,
  missingHeaders,
  type RateLimitOptions as Options,
  type RequestDecision,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { Context, Env, Input, MiddlewareHandler, Next } from 'hono'
import { answered } from './answered.ts'
import { limitOf } from './middleware.ts'
import { reader } from './reader.ts'
import { settlesLater } from './sent.ts'

/** The options of `rateLimit`, whose functions get a context with the variables and bindings of the app, `E`. */
// biome-ignore lint/suspicious/noExplicitAny: as in Hono's Context, of any app
export type RateLimitOptions<Name extends string = string, E extends Env = any> = Options<Context<E>, Context<E>, Name>

/** The middleware, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string>
  extends MiddlewareHandler<Counted<Name>>,
    HttpLimiter<Context, Context, Name> {
  /** For calls by middleware, whose context may have any variables and bindings. */
  <E extends Env, P extends string, I extends Input>(c: Context<E, P, I>, next: Next): ReturnType<MiddlewareHandler>
}

/** The variables that later handlers in one chain read with `c.get('rateLimit')`. */
export interface Counted<Name extends string = string> {
  Variables: { rateLimit: RequestDecision<Name> | undefined }
}

/**
 * Returns middleware that limits requests: by default, each client address, in memory. Throws a `QuotaError` if an option
 * is invalid. If a function of the options names the variables of the app, `(c: Context<AppEnv>) => …`, all of them know these.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
// biome-ignore lint/suspicious/noExplicitAny: as in Hono's Context, of any app
export function rateLimit<Name extends string = 'default', E extends Env = any>(
  options: RateLimitOptions<Name, E>,
): RateLimit<Name> {
  const guard = httpGuard<Context, Context, Name>(options as unknown as RateLimitOptions<Name>, reader, memoryStore)
  return limitOf(guard, { ...ALL_PARTS, missing: missingHeaders, answered, settlesLater }) as RateLimit<Name>
}
