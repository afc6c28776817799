import {
  httpGuard,
  isAbandoned,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import { note, reader, visitOf } from './reader.ts'
import { refusing, settling, telling } from './response.ts'

/** What `rateLimit` takes. */
export type RateLimitOptions<Name extends string = string> = Options<Request, Response, Name, undefined>

/** A handler, and whatever the runtime hands it beside the request. */
type Handler<R extends Request, Rest extends readonly unknown[], A> = (request: R, ...rest: Rest) => A | Promise<A>

/** Puts the limit before a handler, tells what it decides, and puts other policies in force without losing counts. */
export interface RateLimit<Name extends string = string> {
  /** The handler with the limit before it: for the same arguments, whatever the runtime hands over. */
  <R extends Request, Rest extends readonly unknown[], A extends Response | undefined>(
    handler: Handler<R, Rest, A>,
  ): (request: R, ...rest: Rest) => Promise<Response | A>
  /** What this limiter has decided about a request, by the names of its policies. */
  decisionOf(request: Request): RequestDecision<Name> | undefined
  /** Puts other policies in force for the requests to come; those that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<Request, Response, string, undefined>[]): void
}

/**
 * Limits requests, by client IP and in memory unless told otherwise.
 *
 * @example
 * const limit = rateLimit({ quota: perMinute(100) })
 * export default { fetch: limit(() => new Response('ok')) }
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<Request, Response, Name, undefined>(options, reader, memoryStore)
  const limit =
    <R extends Request, Rest extends readonly unknown[], A extends Response | undefined>(
      handler: Handler<R, Rest, A>,
    ) =>
    async (request: R, ...rest: Rest): Promise<Response | A> => {
      const visit = visitOf(request, rest[0])
      const verdict = guard(request)
      const known = await verdict
      if (known !== verdict && isAbandoned(request, visit.beside)) {
        known.discard()
        // Nobody is there to read it.
        return new Response(null, { status: 499 })
      }
      const { refusal, answer, after } = known
      note(visit, known)
      if (refusal) return refusing(request, (await answer?.(undefined)) ?? refusal, visit.told)
      try {
        const answer = await handler(request, ...rest)
        // Bun's handlers answer nothing when they have upgraded the connection.
        return answer && settling(telling(answer, request, visit.told), after, rest[1])
      } catch (error) {
        settling(new Response(null, { status: 500 }), after, rest[1])
        throw error
      }
    }
  return Object.assign(limit, { replace: guard.replace, decisionOf: guard.decisionOf })
}
