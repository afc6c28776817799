import {
  type ByKey,
  httpGuard,
  isAbandoned,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
  UPGRADED,
} from '@spillway/core/http'
import { calledByHand } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import { keepVerdict, reader, recordOf } from './reader.ts'
import { denialResponse, withLimitHeaders } from './response.ts'
import { responseTo, settler } from './sent.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<Request, Response, Name, undefined>

/** A handler; `Rest` is what the runtime passes beside the request. */
type Handler<R extends Request, Rest extends readonly unknown[], A> = (request: R, ...rest: Rest) => A | Promise<A>

/**
 * Wraps a handler in the limit, with its decisions, its counts by key, and a way to replace its policies without losing
 * counts.
 */
export interface RateLimit<Name extends string = string> extends ByKey<Name> {
  /** Wraps a handler. The result has the same parameters, including what the runtime passes beside the request. */
  <R extends Request, Rest extends readonly unknown[], A extends Response | undefined>(
    handler: Handler<R, Rest, A>,
  ): (request: R, ...rest: Rest) => Promise<Response | A>
  /**
   * This limiter's decision about a request, with its policy names as types; undefined if the request was not counted.
   */
  decisionOf(request: Request): RequestDecision<Name> | undefined
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<Request, Response, string, undefined>[]): void
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
  const limit = <R extends Request, Rest extends readonly unknown[], A extends Response | undefined>(
    handler: Handler<R, Rest, A>,
  ) => {
    if (typeof handler !== 'function') throw calledByHand('(handler)', [handler])
    return async (request: R, ...rest: Rest): Promise<Response | A> => {
      const record = recordOf(request, rest[0])
      const pending = guard(request)
      const verdict = await pending
      const { denial, answer, after, discard } = verdict
      if (isAbandoned(request, record.context, pending instanceof Promise)) {
        discard()
        // The client has disconnected: nothing reads this response.
        return new Response(null, { status: 499 })
      }
      keepVerdict(record, verdict)
      if (denial) return denialResponse(request, (await answer?.(undefined)) ?? denial, record.limitHeaders)
      const settle = settler(request, record.context, rest, after)
      try {
        const response = await handler(request, ...rest)
        if (response) return settle(withLimitHeaders(response, request, record.limitHeaders))
        // Bun's handlers return nothing after upgrading the connection.
        settle(new Response(null), UPGRADED)
        return response
      } catch (thrown) {
        settle(responseTo(thrown), undefined, true)
        throw thrown
      }
    }
  }
  return Object.assign(limit, { ...guard.byKey, replace: guard.replace, decisionOf: guard.decisionOf })
}
