import { isAbandoned, outgoingOf, statusOfThrown, untilRead, type Verdict, whenAnswered } from '@spillway/core/http'
import type { Context } from 'hono'
import type { Outcome } from './middleware.ts'
import { identityOf } from './plain-reader.ts'
import { replaceResponse } from './response.ts'

type Done = NonNullable<Verdict<Context>['after']>

/**
 * Calls `done` when the response has been sent completely, including a stream, or its client has disconnected. Node reports
 * both. In other runtimes, and for a request that the app makes by itself, the response counts as sent when its body has been
 * read to the end or cancelled; `waitUntil` then keeps Workers running for the callback. The caller awaits the handler: an
 * asynchronous function here costs two promises.
 */
export function settlesLater(c: Context, done: Done): Outcome {
  const outgoing = identityOf(c) !== c ? outgoingOf(c.env) : undefined
  if (outgoing) {
    whenAnswered(outgoing, (status, ended) => void done(status, c, ended))
    return REPORTED
  }
  return {
    responded: () => whenRead(c, done),
    threw: (thrown) => waitUntil(c, done(isAbandoned(c.req.raw, c.env) ? undefined : statusOf(thrown), c)),
  }
}

/** Node reports when the response is over. */
const REPORTED: Outcome = { responded: () => {}, threw: () => {} }

/** The status of the answer to what is thrown and not set on the context: undefined if an error handler may choose it. */
const statusOf = (thrown: unknown): number | undefined =>
  statusOfThrown(thrown) ?? (thrown instanceof Error ? undefined : 500)

/** Calls back when the body of the response has been read. */
function whenRead(c: Context, done: Done): void {
  const status = isAbandoned(c.req.raw, c.env) ? undefined : c.res.status
  const sent = untilRead(c.res.body, c.req.method)
  if (sent) replaceResponse(c, new Response(sent.copy, c.res))
  waitUntil(c, sent ? sent.read.then(() => done(status, c)) : done(status, c))
}

function waitUntil(c: Context, work: Promise<void>): void {
  try {
    c.executionCtx.waitUntil(work)
  } catch {} // Only Workers and similar runtimes have one.
}
