import {
  type AdapterParts,
  CLIENT_CLOSED,
  type DecisionReader,
  type Denial,
  type Header,
  isOver,
  type LimitOf,
  lastValueOf,
  type RequestDecision,
  setAnswerHeaders,
  type Verdict,
  withGuard,
} from '@spillway/core/http'
import { calledByHand } from '@spillway/core/internal'
import type { Context, Middleware, Next } from 'koa'

declare module 'koa' {
  interface DefaultState {
    /** The decision of `rateLimit`; undefined if the request was not counted. */
    rateLimit?: RequestDecision | undefined
  }
}

/** The middleware of a lean entry. */
export interface LeanRateLimit extends Middleware, DecisionReader<Context> {}

/** Makes middleware of a guard. */
export const limitOf: LimitOf<Context, Context, AdapterParts<Context>, LeanRateLimit> = (
  guard,
  { join, whenAnswered },
) => {
  const follow = (ctx: Context, next: Next, verdict: Verdict<Context>): Promise<void> => {
    if (verdict === CLIENT_CLOSED) return DONE
    const { decision, headers, denial, answer, after } = verdict
    // Not by the state: the app may have replaced or frozen it.
    const limited = lastValueOf(ctx.req, true) !== undefined
    if (decision) Reflect.set(Object(ctx.state), 'rateLimit', decision)
    setHeaders(ctx, join(headers, limited, headerOf, ctx.res))
    if (headers.length > 0) keepHeaders(ctx, headers)
    if (after) whenAnswered?.(ctx.res, (status, ended) => void after(status, ctx, ended))
    if (denial && !answer) {
      deny(ctx, denial)
      return DONE
    }
    return denial && answer ? answered(ctx, denial, answer) : next()
  }
  const middleware: Middleware = (ctx, next) => {
    if (typeof next !== 'function' || !ctx?.res) throw calledByHand('(ctx, next)', [ctx, next])
    const verdict = guard(ctx, ctx.res)
    // A synchronous verdict is not awaited: a promise costs more than the decision.
    return verdict instanceof Promise ? verdict.then((known) => follow(ctx, next, known)) : follow(ctx, next, verdict)
  }
  return withGuard(middleware, guard)
}

const headerOf = (name: string, res: Context['res']): unknown => res.getHeader(name)

const DONE = /* @__PURE__ */ Promise.resolve()

/** Sends the answer, unless `onDenied` has answered itself by returning the context or setting its response. */
async function answered(ctx: Context, standard: Denial, answer: NonNullable<Verdict['answer']>): Promise<void> {
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

/** The last decision of `rateLimit` about a request; undefined if the request was not counted. */
export const decisionOf = (ctx: Context): RequestDecision | undefined => lastValueOf(ctx.req)
