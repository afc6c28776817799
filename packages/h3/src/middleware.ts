import {
  type AdapterParts,
  type DecisionReader,
  type Denial,
  type Header,
  isCookie,
  type LimitOf,
  type RequestDecision,
  type Verdict,
  withGuard,
} from '@spillway/core/http'
import { calledByHand, hasMethod } from '@spillway/core/internal'
import type { H3, H3Event, Middleware } from 'h3'
import { onceResponded } from './responded.ts'
import { isFailure, type whenSent } from './sent.ts'

declare module 'h3' {
  interface H3EventContext {
    /** The decision of `rateLimit`; undefined if the request was not counted. */
    rateLimit?: RequestDecision | undefined
  }
}

type Next = Parameters<Middleware>[1]

/** The middleware of a lean entry, which is also a plugin. */
export interface LeanRateLimit extends Middleware, DecisionReader<H3Event> {
  /** As a plugin, it limits the whole app. */
  (app: H3): void
}

/** What only some features need of this adapter. */
export interface H3Parts extends AdapterParts<H3Event> {
  readonly whenSent?: typeof whenSent
}

/** Makes middleware of a guard. */
export const limitOf: LimitOf<H3Event, H3Event, H3Parts, LeanRateLimit> = (guard, parts) => {
  const middleware = (event: H3Event, next: Next): unknown => {
    const verdict = guard(event, event)
    // A synchronous verdict is not awaited: a promise costs more than the decision.
    return verdict instanceof Promise
      ? verdict.then((known) => follow(known, event, next, parts))
      : follow(verdict, event, next, parts)
  }
  // h3 passes an event and a function to middleware of two parameters, and its app to a plugin.
  const limit = (subject: H3Event | H3, next?: Next): unknown => {
    if (next === undefined && hasMethod(subject, 'use')) return void (subject as H3).use(middleware)
    if (typeof next === 'function' && 'context' in Object(subject)) return middleware(subject as H3Event, next)
    throw calledByHand('(event, next)', [subject, next])
  }
  return withGuard(limit as LeanRateLimit, guard)
}

/** Applies a verdict. */
function follow(
  { decision, headers, denial, answer, after }: Verdict<H3Event>,
  event: H3Event,
  next: Next,
  { join, whenSent }: H3Parts,
): unknown {
  const limited = event.context.rateLimit !== undefined
  if (decision) event.context.rateLimit = decision
  for (const staged of stagedBy(event)) {
    for (const [name, value] of join(headers, limited, (name) => staged?.get(name))) staged?.set(name, value)
  }
  if (denial === undefined) return passOn(event, after && whenSent ? () => whenSent(event, next, after) : next, headers)
  const own = answer ? answer(undefined) : denial
  return own instanceof Promise ? own.then((known) => denied(event, known ?? denial)) : denied(event, own ?? denial)
}

/** Calls the handler. If it fails, h3 sends a Response of the app's `onError` without the headers that are staged. */
function passOn(event: H3Event, next: () => unknown, headers: readonly Header[]): unknown {
  if (!event.app?.config.onError || headers.length === 0) return next()
  const keepIfFailed = (result: unknown): unknown => {
    if (isFailure(result)) keepHeaders(event, headers)
    return result
  }
  return (async () => next())().then(keepIfFailed, (thrown) => {
    keepHeaders(event, headers)
    throw thrown
  })
}

/** Sets headers on the response as they are staged: with those of the limiters behind. */
function keepHeaders(event: H3Event, headers: readonly Header[]): void {
  const staged = stagedBy(event).findLast((each) => each !== undefined)
  const kept = headers.map(([name]) => [name, staged?.get(name) ?? ''] as const)
  onceResponded(event, (response) => {
    try {
      for (const [name, value] of kept) response.headers.set(name, value)
    } catch {} // They are immutable.
  })
}

/** h3 adds the first to successful responses and the second to errors. The h3 of Nitro 3.0.0 has no second. */
const stagedBy = ({ res }: H3Event): readonly (Headers | undefined)[] => [res.headers, res.errHeaders]

function denied(event: H3Event, { status, contentType, headers, body, response }: Denial): Response {
  if (response) return response as Response
  // h3 prefers headers that are staged to those of a response.
  for (const staged of stagedBy(event)) {
    for (const [name] of headers) if (!isCookie(name)) staged?.delete(name)
  }
  const fields = [...headers, ['Content-Type', contentType]] as [string, string][]
  return new Response(event.req.method === 'HEAD' ? null : body || null, { status, headers: fields })
}

/** The last decision of `rateLimit` about a request; undefined if the request was not counted. */
export const decisionOf = (event: H3Event): RequestDecision | undefined => event.context.rateLimit
