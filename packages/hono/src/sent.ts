import { isAbandoned, outgoingOf, untilRead, type Verdict, whenAnswered } from '@spillway/core/http'
import type { Context, Next } from 'hono'
import { identityOf } from './reader.ts'
import { replaceResponse } from './response.ts'

type Done = NonNullable<Verdict<Context>['after']>

/**
 * Calls the handler, and calls back with the status when its response has been sent completely, including a stream, or
 * its client has disconnected. Node reports both. In other runtimes, and for a request that the app makes by itself, the
 * response counts as sent when its body has been read to the end or cancelled; `waitUntil` then keeps Workers running for the
 * callback.
 */
export async function nextThen(c: Context, next: Next, done: Done): Promise<void> {
  const outgoing = identityOf(c) === c ? undefined : outgoingOf(c.env)
  if (outgoing) {
    whenAnswered(outgoing, (status, ended) => void done(status, c, ended))
    return next()
  }
  try {
    await next()
  } catch (thrown) {
    // A thrown value that is not an Error bypasses the app's error handler.
    waitUntil(c, done(isAbandoned(c.req.raw, c.env) ? undefined : 500, c))
    throw thrown
  }
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
