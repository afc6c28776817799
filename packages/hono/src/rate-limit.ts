import {
  httpGuard,
  isAbandoned,
  joinHeaders,
  missingHeaders,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type Refusal,
  type RequestDecision,
  type Verdict,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { Context, MiddlewareHandler, Next } from 'hono'
import type { StatusCode } from 'hono/utils/http-status'
import { reader } from './reader.ts'
import { nextThen } from './sent.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** What `rateLimit` decided; undefined where the request was not counted. */
    rateLimit: RequestDecision | undefined
  }
}

/** What `rateLimit` takes. */
export type RateLimitOptions<Name extends string = string> = Options<Context, Context, Name>

/** The middleware, what it decides, and a way to put other policies in force without losing counts. */
export interface RateLimit<Name extends string = string> extends MiddlewareHandler<Counted<Name>> {
  /** What this limiter has decided about a request, by the names of its policies. */
  decisionOf(c: Context): RequestDecision<Name> | undefined
  /** Puts other policies in force for the requests to come; those that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<Context, Context>[]): void
}

/** What handlers that come after it, in one chain, find by `c.get('rateLimit')`. */
export interface Counted<Name extends string = string> {
  Variables: { rateLimit: RequestDecision<Name> | undefined }
}

/**
 * Limits requests, by client IP and in memory unless told otherwise.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<Context, Context, Name>(options, reader, memoryStore)
  const middleware: MiddlewareHandler<Counted<Name>> = (c, next) => {
    const verdict = guard(c)
    // Not awaited where it is there already: a promise costs more than the decision.
    return verdict instanceof Promise ? verdict.then((known) => followLate(known, c, next)) : follow(verdict, c, next)
  }
  return Object.assign(middleware, { replace: guard.replace, decisionOf: guard.decisionOf })
}

/** Does what a verdict says that had to be waited for; nothing but giving back where the response is over. */
function followLate(verdict: Verdict<Context>, c: Context, next: Next): Promise<Response | undefined> | Response {
  if (!c.finalized && !isAbandoned(c.req.raw, c.env)) return follow(verdict, c, next)
  verdict.discard()
  // Nobody is there to read it.
  return new Response(null, { status: 499 })
}

async function follow(verdict: Verdict<Context>, c: Context, next: Next): Promise<Response | undefined> {
  const { decision, headers, refusal, answer, after } = verdict
  // Asking for c.res makes a response, so that is left until another limiter is known to have set its headers there.
  const before = (name: string): string | null => c.res.headers.get(name)
  const told = joinHeaders(headers, c.get('rateLimit') !== undefined, before)
  if (decision) c.set('rateLimit', decision)
  const tell = (): void => {
    for (const [name, value] of missingHeaders(told, before)) c.header(name, value)
  }
  for (const [name, value] of told) c.header(name, value)
  if (refusal) return answer ? answered(c, await answer(c), refusal, tell) : refused(c, refusal)
  await (after ? nextThen(c, next, (status) => after(status, c)) : next())
  // A handler that answers with a Response of its own has not seen the headers set above.
  const [first] = told
  if (first && !before(first[0])?.includes(first[1])) tell()
}

/** What `onDenied` has answered by itself, with the headers; or what it says. */
function answered(c: Context, own: Refusal | undefined, standard: Refusal, tell: () => void): Response {
  if (own?.response) c.res = own.response as Response
  else if (own || !c.finalized) return refused(c, own ?? standard)
  tell()
  return c.res
}

/** By way of the context, which adds the headers that middleware before this one has set. */
function refused(c: Context, { status, contentType, headers, body }: Refusal): Response {
  for (const [name, value] of headers) c.header(name, value)
  c.header('Content-Type', contentType)
  return c.newResponse(body, status as StatusCode)
}

/** What `rateLimit` decided about a request, the last one if there are several; undefined if it was not counted. */
export const decisionOf = (c: Context): RequestDecision | undefined => c.get('rateLimit')
