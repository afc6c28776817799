import {
  type ByKey,
  type Denial,
  httpGuard,
  isAbandoned,
  isCookie,
  joinHeaders,
  missingHeaders,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
  type Verdict,
} from '@spillway/core/http'
import { calledByHand, hasMethod } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import type { Context, Env, Input, MiddlewareHandler, Next } from 'hono'
import type { StatusCode } from 'hono/utils/http-status'
import { reader } from './reader.ts'
import { headersOf, replaceResponse, setHeaders } from './response.ts'
import { outcomeOf } from './sent.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** The decision of `rateLimit`; undefined if the request was not counted. */
    rateLimit: RequestDecision | undefined
  }
}

/** The options of `rateLimit`, whose functions get a context with the variables and bindings of the app, `E`. */
// biome-ignore lint/suspicious/noExplicitAny: as in Hono's Context, of any app
export type RateLimitOptions<Name extends string = string, E extends Env = any> = Options<Context<E>, Context<E>, Name>

/** The middleware, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string> extends MiddlewareHandler<Counted<Name>>, ByKey<Name> {
  /** For calls by middleware, whose context may have any variables and bindings. */
  <E extends Env, P extends string, I extends Input>(c: Context<E, P, I>, next: Next): ReturnType<MiddlewareHandler>
  /**
   * This limiter's decision about a request, with its policy names as types; undefined if the request was not counted.
   */
  decisionOf(c: Context): RequestDecision<Name> | undefined
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<Context, Context>[]): void
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
  const middleware: MiddlewareHandler<Counted<Name>> = (c, next) => {
    if (typeof next !== 'function' || !hasMethod(c, 'newResponse')) throw calledByHand('(c, next)', [c, next])
    const verdict = guard(c)
    // A synchronous verdict is not awaited: a promise costs more than the decision.
    return verdict instanceof Promise ? verdict.then((known) => follow(known, c, next, true)) : follow(verdict, c, next)
  }
  return Object.assign(middleware, { ...guard.byKey, replace: guard.replace, decisionOf: guard.decisionOf })
}

/** Applies a verdict. If the response is over, the units are refunded and nothing else happens. */
async function follow(
  verdict: Verdict<Context>,
  c: Context,
  next: Next,
  waited: boolean = false,
): Promise<Response | undefined> {
  const { decision, headers, denial, answer, after, discard } = verdict
  if (c.finalized || isAbandoned(c.req.raw, c.env, waited)) {
    discard()
    // The client has disconnected: nothing reads this response.
    return new Response(null, { status: 499 })
  }
  const before = (name: string): string | null => headersOf(c).get(name)
  const joined = joinHeaders(headers, c.get('rateLimit') !== undefined, before)
  if (decision) c.set('rateLimit', decision)
  const restoreHeaders = (): void => setHeaders(c, missingHeaders(joined, c.get('rateLimit') !== decision, before))
  for (const [name, value] of joined) c.header(name, value)
  if (denial) return answer ? answered(c, await answer(c), denial, restoreHeaders) : denied(c, denial)
  // A handler that returns a Response of its own discards the headers set above.
  const { responded, threw } = outcomeOf(c, restoreHeaders, after)
  try {
    await next()
  } catch (thrown) {
    threw(thrown)
    throw thrown
  }
  responded()
}

/** The response that `onDenied` has sent itself, with the headers added; otherwise the answer that it returned. */
function answered(c: Context, own: Denial | undefined, standard: Denial, restoreHeaders: () => void): Response {
  if (own?.response) replaceResponse(c, own.response as Response)
  else if (own || !c.finalized) return denied(c, own ?? standard)
  restoreHeaders()
  return c.res
}

/** Made by the context, which adds the headers that earlier middleware has set. */
function denied(c: Context, { status, contentType, headers, body }: Denial): Response {
  for (const [name, value] of headers) c.header(name, value, { append: isCookie(name) })
  c.header('Content-Type', contentType)
  return c.newResponse(body || null, status as StatusCode)
}

/**
 * The decision of `rateLimit` about a request, the last one if there are several; undefined if the request was not
 * counted.
 */
export const decisionOf = (c: Context): RequestDecision | undefined => c.get('rateLimit')
