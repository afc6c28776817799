import {
  type AdapterParts,
  type Answered,
  type DecisionReader,
  type Denial,
  type LimitOf,
  lastValueOf,
  type RequestDecision,
  setAnswerHeaders,
  statusOf,
  type Verdict,
  withGuard,
} from '@spillway/core/http'
import { calledByHand } from '@spillway/core/internal'
import type { EventHandler, EventHandlerRequest, H3Event } from 'h3'
import { isLate, readAddress, whenOver } from './reader.ts'

declare module 'h3' {
  interface H3EventContext {
    /** The decision of `rateLimit`; undefined if the request was not counted. */
    rateLimit?: RequestDecision | undefined
  }
}

/** An event handler that answers by itself or returns nothing, so that h3 calls the next one. */
export type Handler = EventHandler<EventHandlerRequest, void | Promise<void>>

/** The event handler of a lean entry. */
export interface LeanRateLimit extends Handler, DecisionReader<H3Event> {}

/** Makes an event handler of a guard. */
export const limitOf: LimitOf<H3Event, H3Event, AdapterParts<H3Event>, LeanRateLimit> = (guard, parts) => {
  const handler: Handler = (event) => {
    if (!event?.node) throw calledByHand('(event)', [event])
    readAddress(event)
    const verdict = guard(event, event)
    // A synchronous verdict is not awaited: a promise costs more than the decision.
    if (!(verdict instanceof Promise)) return follow(verdict, event, parts)
    const answered = verdict.then((known) => follow(known, event, parts))
    return answered.catch((error: unknown) => (isLate(event, true) ? undefined : Promise.reject(error)))
  }
  return withGuard(Object.assign(handler, { __is_handler__: true as const }), guard)
}

/** Applies a verdict. */
function follow(
  { decision, headers, denial, answer, after }: Verdict<H3Event>,
  event: H3Event,
  { join, whenAnswered }: AdapterParts<H3Event>,
): void | Promise<void> {
  const { res } = event.node
  // Not by the context: the app may have replaced it, and Nitro passes it to other requests.
  const limited = lastValueOf(event.node.req, true) !== undefined
  if (decision) event.context.rateLimit = decision
  for (const [name, value] of join(headers, limited, (name) => res.getHeader(name))) res.setHeader(name, value)
  if (after && whenAnswered) {
    const answered: Answered = (status = statusIn(res), ended) => keepRunning(event, after(status, event, ended))
    if (event.web?.request) whenOver(event, () => answered(undefined))
    else whenAnswered(res, answered)
  }
  if (denial === undefined) return
  const own = answer ? answer(undefined) : denial
  return own instanceof Promise
    ? own.then((known) => deny(event, known ?? denial, true))
    : deny(event, own ?? denial, false)
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

/** The last decision of `rateLimit` about a request; undefined if the request was not counted. */
export const decisionOf = (event: H3Event): RequestDecision | undefined =>
  lastValueOf<RequestDecision>(event.node.req) ?? event.context.rateLimit
