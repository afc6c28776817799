import {
  connectionAddress,
  httpGuard,
  joined,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type Refusal,
  type RequestDecision,
  type RequestReader,
  whenAborted,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import { untilRead } from './read.ts'

/** What `rateLimit` takes. */
export type RateLimitOptions<Name extends string = string> = Options<Request, Response, Name>

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
  replace(policies: readonly PolicyOptions<Request, Response>[]): void
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
  onGone: ({ signal }, listener) => whenAborted(signal, listener),
}

/**
 * Limits requests, by client IP and in memory unless told otherwise.
 *
 * @example
 * const limit = rateLimit({ quota: perMinute(100) })
 * export default { fetch: limit(() => new Response('ok')) }
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<Request, Response, Name>(options, reader, memoryStore)
  const limit =
    <R extends Request, Rest extends readonly unknown[], A extends Response | undefined>(
      handler: Handler<R, Rest, A>,
    ) =>
    async (request: R, ...rest: Rest): Promise<Response | A> => {
      const visit = visitOf(request, rest[0])
      const { decision, headers, refusal, after } = await guard(request)
      if (decision) visit.decision = decision
      for (const header of headers) visit.told.set(header[0], joined(visit.told.get(header[0]), header))
      if (refusal) return refusing(request, refusal, visit.told)
      const settled = (answer: Response): Response => {
        if (after === undefined) return answer
        const [response, read] = untilRead(answer)
        outlive(
          rest[1],
          read.then(() => after(response.status, response)),
        )
        return response
      }
      try {
        const answer = await handler(request, ...rest)
        // Bun's handlers answer nothing when they have upgraded the connection.
        return answer && settled(telling(answer, request, visit.told))
      } catch (error) {
        settled(new Response(null, { status: 500 }))
        throw error
      }
    }
  return Object.assign(limit, { replace: guard.replace, decisionOf: guard.decisionOf })
}

function refusing({ method }: Request, refusal: Refusal, told: ReadonlyMap<string, string>): Response {
  const { status, contentType, body } = refusal
  const headers = { ...Object.fromEntries([...told, ...refusal.headers]), 'Content-Type': contentType }
  return new Response(method === 'HEAD' ? null : body, { status, headers })
}

/** The request that a response has been the answer to. */
const answered = new WeakMap<Response, Request>()

/** The response with its headers: itself, or a copy where it cannot be changed or answers another request as well. */
function telling(answer: Response, request: Request, told: ReadonlyMap<string, string>): Response {
  // The one that Response.error() makes takes no headers, and no copy can be made of it.
  if (told.size === 0 || answer.status === 0) return answer
  const own = (answered.get(answer) ?? request) === request
  answered.set(answer, request)
  if (own) {
    try {
      return withHeaders(answer, told)
    } catch {} // As fetch() and Response.redirect() make them, headers cannot be changed.
  }
  return withHeaders(new Response(answer.body, answer), told)
}

function withHeaders(response: Response, told: ReadonlyMap<string, string>): Response {
  for (const [name, value] of told) response.headers.set(name, value)
  return response
}

/** Lets the runtime stay awake for work that outlasts the response, where it would not by itself, as Workers. */
function outlive(context: unknown, work: Promise<void>): void {
  const { waitUntil } = (context ?? {}) as { waitUntil?: (work: Promise<void>) => void }
  waitUntil?.call(context, work)
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
