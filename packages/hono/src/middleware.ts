import {
  type AdapterParts,
  CLIENT_CLOSED,
  type DecisionReader,
  type Denial,
  type LimitOf,
  type missingHeaders,
  type RequestDecision,
  type Verdict,
  withGuard,
} from '@spillway/core/http'
import { calledByHand, hasMethod } from '@spillway/core/internal'
import type { Context, MiddlewareHandler, Next } from 'hono'
import type { StatusCode } from 'hono/utils/http-status'
import { headersOf, isAnswered, onceResponded, setHeaders } from './response.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** The decision of `rateLimit`; undefined if the request was not counted. */
    rateLimit: RequestDecision | undefined
  }
}

/** What to call when the next handler has returned or thrown. */
export interface Outcome {
  responded(): void
  threw(thrown: unknown): void
}

/** The middleware of a lean entry. */
// biome-ignore lint/suspicious/noExplicitAny: as in Hono's middleware, of any app
export interface LeanRateLimit extends MiddlewareHandler<any>, DecisionReader<Context> {}

/** What only some features need of this adapter. */
export interface HonoParts extends AdapterParts<Context> {
  /** The headers that a response lacks that another server has made. */
  readonly missing: typeof missingHeaders
  /** Calls back when the response has been sent: for features that read it. */
  readonly settlesLater?: (c: Context, done: NonNullable<Verdict<Context>['after']>) => Outcome
  /** The answer of `onDenied`; `restore` adds the headers to a response. */
  readonly answered?: (c: Context, own: Denial | undefined, standard: Denial, restore: () => void) => Response
}

/** Makes middleware of a guard. */
export const limitOf: LimitOf<Context, Context, HonoParts, LeanRateLimit> = (guard, parts) => {
  const middleware: MiddlewareHandler = (c, next) => {
    if (typeof next !== 'function' || !hasMethod(c, 'newResponse')) throw calledByHand('(c, next)', [c, next])
    const verdict = guard(c, c)
    // A synchronous verdict is not awaited: a promise costs more than the decision.
    return verdict instanceof Promise
      ? verdict.then((known) => follow(known, c, next, parts))
      : follow(verdict, c, next, parts)
  }
  return withGuard(middleware, guard)
}

/** The last decision of `rateLimit` about a request; undefined if the request was not counted. */
export const decisionOf = (c: Context): RequestDecision | undefined => c.get('rateLimit')

/** Applies a verdict. */
async function follow(
  verdict: Verdict<Context>,
  c: Context,
  next: Next,
  { settlesLater, answered, join, missing }: HonoParts,
): Promise<Response | undefined> {
  // Nothing reads this response.
  if (verdict === CLIENT_CLOSED) return new Response(null, { status: 499 })
  const { decision, headers, denial, answer, after } = verdict
  const before = (name: string): string | null => headersOf(c).get(name)
  const joined = join(headers, c.get('rateLimit') !== undefined, before)
  if (decision) c.set('rateLimit', decision)
  const restoreHeaders = (): void => setHeaders(c, missing(joined, c.get('rateLimit') !== decision, before))
  for (const [name, value] of joined) c.header(name, value)
  if (denial) {
    return answer && answered ? answered(c, await answer(c), denial, restoreHeaders) : denied(c, denial)
  }
  const outcome = after && settlesLater?.(c, after)
  // A handler that returns a Response of its own discards the headers set above.
  const responded = (): void => {
    restoreHeaders()
    outcome?.responded()
  }
  try {
    await next()
  } catch (thrown) {
    // Thrown through middleware that composes others, such as `every`: the app's error handler has yet to answer.
    if (isAnswered(c, thrown)) onceResponded(c, responded)
    else outcome?.threw(thrown)
    throw thrown
  }
  responded()
}

/** Made by the context, which adds the headers that have been set. */
export function denied(c: Context, { status, contentType, body }: Denial): Response {
  c.header('Content-Type', contentType)
  return c.newResponse(body || null, status as StatusCode)
}
