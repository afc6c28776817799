import {
  type ByKey,
  type Denial,
  type Header,
  httpGuard,
  isOver,
  joinHeaders,
  lastValueOf,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
  setAnswerHeaders,
  type Verdict,
  whenAnswered,
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
    // Not by the state: the app may have replaced or frozen it.
    const limited = lastValueOf(ctx.req, true) !== undefined
    if (decision) Reflect.set(Object(ctx.state), 'rateLimit', decision)
    setHeaders(
      ctx,
      joinHeaders(headers, limited, (name) => ctx.res.getHeader(name)),
    )
    if (headers.length > 0) keepHeaders(ctx, headers)
    if (after) whenAnswered(ctx.res, (status, ended) => void after(status, ctx, ended))
    if (denial && !answer) {
      deny(ctx, denial)
      return DONE
    }
    return denial && answer ? sendAnswer(ctx, denial, answer) : next()
  }
  const middleware: Middleware = (ctx, next) => {
    if (typeof next !== 'function' || !ctx?.res) throw calledByHand('(ctx, next)', [ctx, next])
    const verdict = guard(ctx)
    // A synchronous verdict is not awaited: a promise costs more than the decision.
    return verdict instanceof Promise ? verdict.then((known) => follow(ctx, next, known)) : follow(ctx, next, verdict)
  }
  return Object.assign(middleware, { ...guard.byKey, replace: guard.replace, decisionOf: guard.decisionOf })
}

const DONE = /* @__PURE__ */ Promise.resolve()

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

/** Koa removes all headers before it answers an error. These stay. */
function keepHeaders(ctx: Context, headers: readonly Header[]): void {
  const { onerror, res } = ctx
  ctx.onerror = (error) => {
    const { removeHeader } = res
    res.removeHeader = (name) => {
      const isKept = headers.some(([kept]) => kept.toLowerCase() === name.toLowerCase())
      if (!isKept) removeHeader.call(res, name)
    }
    try {
      onerror.call(ctx, error)
    } finally {
      res.removeHeader = removeHeader
    }
  }
}

/**
 * The decision of `rateLimit` about a request, the last one if there are several; undefined if the request was not
 * counted.
 */
export const decisionOf = (ctx: Context): RequestDecision | undefined => lastValueOf(ctx.req)
