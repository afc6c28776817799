import {
  isAbandoned,
  isUpgrade,
  outgoingOf,
  UPGRADED,
  untilRead,
  type Verdict,
  whenAnswered,
} from '@spillway/core/http'
import type { H3Event } from 'h3'
import { keepAnswer } from './answers.ts'
import { contextOf } from './reader.ts'
import { onceResponded } from './responded.ts'

type Done = NonNullable<Verdict<H3Event>['after']>

/** The mark of h3's own `HTTPResponse`. */
const HTTP_RESPONSE = Symbol.for('h3.HTTPResponse')

interface ResponseLike {
  readonly [HTTP_RESPONSE]?: unknown
  readonly status?: unknown
}

/**
 * Calls the handler, and calls back with the status when its response has been sent completely, including a stream, or
 * its client has disconnected. Node reports both. In other runtimes the response counts as sent when its body has been
 * read to the end or cancelled; `waitUntil` then keeps Workers running for the callback.
 */
export function whenSent(event: H3Event, next: () => unknown, done: Done): unknown {
  const outgoing = outgoingOf(contextOf(event))
  if (outgoing === undefined) return whenRead(event, next, done)
  whenAnswered(outgoing, (status, ended) => void done(status, event, ended))
  const result = next()
  return result instanceof Promise ? result.then((known) => keepAnswer(event, known)) : keepAnswer(event, result)
}

async function whenRead(event: H3Event, next: () => unknown, done: Done): Promise<unknown> {
  const settle = (status: number | undefined, read?: Promise<void>): void => {
    const sent = isAbandoned(event.req, contextOf(event)) ? undefined : status
    event.waitUntil((read ?? Promise.resolve()).then(() => done(sent, event)))
  }
  /** Settles an error by the response that the app, or middleware around the limiter, makes of it. */
  const settleError = (error: unknown): void => {
    if (!onceResponded(event, (response) => settle(keepAnswer(event, response).status))) settle(statusIn(error, event))
  }
  let result: unknown
  try {
    result = keepAnswer(event, await next())
  } catch (thrown) {
    settleError(errorOf(thrown))
    throw thrown
  }
  if (isFailure(result)) {
    settleError(result)
    return result
  }
  const stream = result instanceof Response && !isUpgrade(result) ? result.body : result
  const sent = stream instanceof ReadableStream ? untilRead(stream, event.req.method) : undefined
  settle(statusIn(result, event), sent?.read)
  if (sent === undefined) return result
  return result instanceof Response ? new Response(sent.copy, result) : sent.copy
}

/** Whether h3 answers a result by an error. Without a route it returns a symbol. */
export const isFailure = (result: unknown): boolean => result instanceof Error || typeof result === 'symbol'

/** The error that h3 makes of what is thrown: a number is a status, and what is neither is a 500. */
function errorOf(thrown: unknown): unknown {
  if (thrown instanceof Error || typeof thrown === 'symbol') return thrown
  return Object.assign(new Error(), { status: typeof thrown === 'number' ? thrown : 500 })
}

/**
 * The status that h3 will send; undefined if the app's `onError` chooses it. A plain object is JSON, whatever its fields
 * are called.
 */
function statusIn(result: unknown, { app, res }: H3Event): number | undefined {
  if (result instanceof Response) return isUpgrade(result) ? UPGRADED : result.status
  const isMissing = typeof result === 'symbol'
  if (isMissing || result instanceof Error) {
    if (app?.config.onError) return undefined
    return isMissing ? 404 : statusOfError(result)
  }
  const made = result as ResponseLike | null | undefined
  return validStatus((made?.[HTTP_RESPONSE] === true && made.status) || res.status, 200)
}

interface ErrorLike {
  readonly status?: unknown
  readonly statusCode?: unknown
}

/** The status that an error names, or its cause. */
function statusOfError(error: ErrorLike & { readonly cause?: unknown }): number {
  const { status, statusCode } = error
  const cause = error.cause as ErrorLike | null | undefined
  return validStatus(status || statusCode || cause?.status || cause?.statusCode, 500)
}

/** The status as a number; `otherwise` if there is no such status. */
function validStatus(status: unknown, otherwise: number): number {
  const number = Number(status)
  return Number.isInteger(number) && number >= 100 && number <= 599 ? number : otherwise
}
