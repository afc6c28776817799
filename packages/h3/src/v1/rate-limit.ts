import {
  type Answered,
  type ByKey,
  type Denial,
  httpGuard,
  isAbandoned,
  isOver,
  joinHeaders,
  lastValueOf,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
  setAnswerHeaders,
  statusOf,
  type Verdict,
  whenAnswered,
} from '@spillway/core/http'
import { calledByHand } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import type { EventHandler, EventHandlerRequest, H3Event } from 'h3'
import { readAddress, reader, whenOver } from './reader.ts'

declare module 'h3' {
  interface H3EventContext {
    /** The decision of `rateLimit`; undefined if the request was not counted. */
    rateLimit?: RequestDecision | undefined
  }
}

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<H3Event, H3Event, Name, undefined>

/** An event handler that answers by itself or returns nothing, so that h3 calls the next one. */
type Handler = EventHandler<EventHandlerRequest, void | Promise<void>>

/** The event handler, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string> extends Handler, ByKey<Name> {
  /**
   * This limiter's decision about a request, with its policy names as types; undefined if the request was not counted.
   */
  decisionOf(event: H3Event): RequestDecision<Name> | undefined
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<H3Event, H3Event, string, undefined>[]): void
}

/**
 * Returns an event handler for `app.use`, for the folder `server/middleware` of Nuxt and Nitro 2, and for `onRequest` of a
 * handler. It limits requests: by default, each client address, in memory. In a handler of your own, call it first, and
 * return if `event.handled` is true. Throws a `QuotaError` if an option is invalid.
 *
 * @example
 * export default rateLimit({ quota: perMinute(100) })
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<H3Event, H3Event, Name, undefined>(options, reader, memoryStore)
  const handler: Handler = (event) => {
    if (!event?.node) throw calledByHand('(event)', [event])
    readAddress(event)
    const verdict = guard(event)
    // A synchronous verdict is not awaited: a promise costs more than the decision.
    if (!(verdict instanceof Promise)) return follow(verdict, event, false)
    const answered = verdict.then((known) => follow(known, event, true))
    return answered.catch((error: unknown) => (isLate(event, true) ? undefined : Promise.reject(error)))
  }
  const { byKey, replace, decisionOf } = guard
  return Object.assign(handler, { __is_handler__: true as const, ...byKey, replace, decisionOf })
}

/** Whether the response is over. If so, h3 must stop: it would call the next handler for a client that has left. */
function isLate(event: H3Event, waited: boolean): boolean {
  const { node, web } = event
  event._handled ||= event.handled || (web?.request ? isAbandoned(web.request, undefined, waited) : isOver(node.res))
  return event._handled
}

/** Applies a verdict. If the response is over, the units are refunded and nothing else happens. */
function follow(verdict: Verdict<H3Event>, event: H3Event, waited: boolean): void | Promise<void> {
  if (isLate(event, waited)) return verdict.discard()
  const { decision, headers, denial, answer, after } = verdict
  const { res } = event.node
  // Not by the context: the app may have replaced it, and Nitro passes it to other requests.
  const limited = lastValueOf(event.node.req, true) !== undefined
  if (decision) event.context.rateLimit = decision
  for (const [name, value] of joinHeaders(headers, limited, (name) => res.getHeader(name))) res.setHeader(name, value)
  if (after) {
    const answered: Answered = (status = statusIn(res), ended) => keepRunning(event, after(status, event, ended))
    if (event.web?.request) whenOver(event, () => answered(undefined))
    else whenAnswered(res, answered)
  }
  if (denial === undefined) return
  const own = answer ? answer(undefined) : denial
  return own instanceof Promise
    ? own.then((known) => deny(event, known ?? denial, true))
    : deny(event, own ?? denial, waited)
}

/** The status of a response that is over. Without a server of Node, the response ends, but sends no headers. */
const statusIn = ({ headersSent, writableEnded, statusCode }: H3Event['node']['res']): number | undefined =>
  statusOf({ headersSent: headersSent || writableEnded }, statusCode)

/** Keeps runtimes such as Workers running, by the function that Nitro adds to the event. */
function keepRunning(event: H3Event & { waitUntil?: (work: Promise<void>) => void }, work: Promise<void>): void {
  event.waitUntil?.(work)
}

/** Sends the answer, unless `onDenied` has answered itself. */
function deny(
  event: H3Event,
  { status, contentType, headers, body, response }: Denial,
  waited: boolean,
): void | Promise<void> {
  if (isLate(event, waited)) return
  if (response) return event.respondWith(response as Response)
  const { res } = event.node
  setAnswerHeaders(res, headers)
  res.statusCode = status
  res.setHeader('Content-Type', contentType)
  res.end(body)
}

/**
 * The decision of `rateLimit` about a request, the last one if there are several; undefined if the request was not
 * counted.
 */
export const decisionOf = (event: H3Event): RequestDecision | undefined =>
  lastValueOf<RequestDecision>(event.node.req) ?? event.context.rateLimit
