import {
  type ByKey,
  type Denial,
  type Header,
  httpGuard,
  isOver,
  joinHeaders,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
  setAnswerHeaders,
  statusOf,
  type Verdict,
  whenClosed,
} from '@spillway/core/http'
import { calledByHand } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import type { Context, Middleware, Next } from 'koa'
import { reader } from './reader.ts'

declare module 'koa' {
  interface DefaultState {
    /** The decision of `rateLimit`; undefined if the request was not counted. */
    rateLimit?: RequestDecision | undefined
  }
}

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
  const follow = (ctx: Context, next: Next, verdict: Verdict<Context>): Promise<void> => {
    if (isOver(ctx.res)) {
      verdict.discard()
      return DONE
    }
    const { decision, headers, denial, answer, after } = verdict
    const limited = ctx.state.rateLimit !== undefined
    if (decision) ctx.state.rateLimit = decision
    setHeaders(
      ctx,
      joinHeaders(headers, limited, (name) => ctx.res.getHeader(name)),
    )
    if (after) whenClosed(ctx.res, () => void after(statusOf(ctx.res, ctx.status), ctx))
    if (denial && !answer) {
      deny(ctx, denial)
      return DONE
    }
    const answered = denial && answer ? sendAnswer(ctx, denial, answer) : next()
    return answered.catch((error: unknown) => {
      carryHeaders(ctx, error, headers)
      throw error
    })
  }
  const middleware: Middleware = (ctx, next) => {
    if (typeof next !== 'function' || !ctx?.res) throw calledByHand('(ctx, next)', [ctx, next])
    const verdict = guard(ctx)
    // A synchronous verdict is not awaited: a promise costs more than the decision.
    return verdict instanceof Promise ? verdict.then((known) => follow(ctx, next, known)) : follow(ctx, next, verdict)
  }
  return Object.assign(middleware, { ...guard.byKey, replace: guard.replace, decisionOf: guard.decisionOf })
}

const DONE = Promise.resolve()

/** Sends the answer, unless `onDenied` has answered itself by returning the context or setting its response. */
async function sendAnswer(ctx: Context, standard: Denial, answer: NonNullable<Verdict['answer']>): Promise<void> {
  const { status, body } = ctx
  const own = await answer(ctx)
  const isSet = ctx.status !== status || ctx.body !== body || ctx.respond === false || isOver(ctx.res)
  if (own && !(own === standard && isSet)) deny(ctx, own)
}

function deny(ctx: Context, { status, contentType, headers, body }: Denial): void {
  if (!ctx.res.headersSent) setAnswerHeaders(ctx.res, headers)
  ctx.status = status
  setHeaders(ctx, [['Content-Type', contentType]])
  ctx.body = body
}

/** Sets headers as `ctx.set` does, without the lists that it makes of each header. */
function setHeaders({ res }: Context, headers: readonly Header[]): void {
  if (res.headersSent) return
  for (const [name, value] of headers) res.setHeader(name, value)
}

/**
 * Koa answers an error with the error's own headers only. While it does, they are extended by those of this response: not
 * for longer, because the same error may answer other requests.
 */
function carryHeaders(ctx: Context, error: unknown, headers: readonly Header[]): void {
  if (!(error instanceof Error)) return
  const carried = Object.fromEntries(headers.map(([name]) => [name, ctx.response.get(name)]))
  const { onerror } = ctx
  ctx.onerror = (thrown) => {
    const restore = thrown === error ? extendHeaders(error as { headers?: object }, carried) : undefined
    try {
      onerror.call(ctx, thrown)
    } finally {
      restore?.()
    }
  }
}

/** Adds to the headers of an error. Returns the function that restores them; undefined if the error cannot be changed. */
function extendHeaders(error: { headers?: object }, carried: object): (() => void) | undefined {
  const before = Object.getOwnPropertyDescriptor(error, 'headers')
  const all = { ...error.headers, ...carried }
  try {
    // Not assigned: the error may have a getter of that name and no setter.
    Object.defineProperty(error, 'headers', { value: all, configurable: true, enumerable: true, writable: true })
    return () => (before ? Object.defineProperty(error, 'headers', before) : Reflect.deleteProperty(error, 'headers'))
  } catch {} // The error is frozen, or its getter cannot be replaced.
  return undefined
}

/**
 * The decision of `rateLimit` about a request, the last one if there are several; undefined if the request was not
 * counted.
 */
export const decisionOf = (ctx: Context): RequestDecision | undefined => ctx.state.rateLimit
