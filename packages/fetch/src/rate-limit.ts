import { ALL_PARTS, type HttpLimiter, httpGuard, type RateLimitOptions as Options } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import { type Handler, limitOf } from './middleware.ts'
import { reader } from './reader.ts'
import { settler } from './sent.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<Request, Response, Name, undefined>

/**
 * Wraps a handler in the limit, with its decisions, its counts by key, and a way to replace its policies without losing
 * counts.
 */
export interface RateLimit<Name extends string = string> extends HttpLimiter<Request, Response, Name, undefined> {
  /** Wraps a handler. The result has the same parameters, including what the runtime passes beside the request. */
  <R extends Request, Rest extends readonly unknown[], A extends Response | undefined>(
    handler: Handler<R, Rest, A>,
  ): (request: R, ...rest: Rest) => Promise<Response | A>
}

/**
 * Returns a function that wraps a handler and limits its requests: by default, each client address, in memory. Throws a
 * `QuotaError` if an option is invalid.
 *
 * @example
 * const limit = rateLimit({ quota: perMinute(100) })
 * export default { fetch: limit(() => new Response('ok')) }
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<Request, Response, Name, undefined>(options, reader, memoryStore)
  return limitOf(guard, { ...ALL_PARTS, settler }) as RateLimit<Name>
}
