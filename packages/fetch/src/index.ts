import {
  connectionAddress,
  httpGuard,
  isAbandoned,
  joined,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
  type RequestReader,
  type Verdict,
  whenAbandoned,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
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

/** What is known of a request, by all limiters that it passes. */
interface Visit {
  readonly beside: unknown
  readonly told: Map<string, string>
  decision: RequestDecision | undefined
}

const visits = new WeakMap<Request, Visit>()

function visitOf(request: Request, beside: unknown): Visit {
  const visit = visits.get(request) ?? { beside, told: new Map(), decision: undefined }
  visits.set(request, visit)
  return visit
}

function note(visit: Visit, { decision, headers }: Verdict<Response>): void {
  if (decision) visit.decision = decision
  for (const header of headers) visit.told.set(header[0], joined(visit.told.get(header[0]), header))
}

/** What `rateLimit` decided about a request; undefined where it was not counted. */
export function decisionOf(request: Request): RequestDecision | undefined {
  return visits.get(request)?.decision
}

const peer = (request: Request): string | undefined => connectionAddress(request, visits.get(request)?.beside)

const reader: RequestReader<Request> = {
  address: peer,
  peer,
  method: ({ method }) => method,
  path: ({ url }) => new URL(url).pathname,
  header: ({ headers }, name) => headers.get(name) ?? undefined,
  query: ({ url }, name) => new URL(url).searchParams.get(name) ?? undefined,
  identity: (request) => request,
  sendsResponses: true,
  onGone: (request, listener) => whenAbandoned(request, visits.get(request)?.beside, listener),
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

export {
  fixedWindow,
  leakyBucket,
  perDay,
  perHour,
  perMinute,
  perSecond,
  shareOf,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core'
export { ipKey } from '@spillway/core/http'
export { memoryStore, rateLimiter } from '@spillway/memory'
