import { isAbandoned, outgoingOf, statusOfThrown, untilRead, type Verdict, whenAnswered } from '@spillway/core/http'
import type { Context } from 'hono'
import { identityOf } from './reader.ts'
import { onceResponded, replaceResponse } from './response.ts'

type Done = NonNullable<Verdict<Context>['after']>

/** What to call when the next handler has returned or thrown. */
interface Outcome {
  responded(): void
  threw(thrown: unknown): void
}

/**
 * Calls `restore`, which sets headers on the response of the next handler again, and `done` when the response has been sent
 * completely, including a stream, or its client has disconnected. Node reports both. In other runtimes, and for a request that
 * the app makes by itself, the response counts as sent when its body has been read to the end or cancelled; `waitUntil` then
 * keeps Workers running for the callback. The caller awaits the handler: an asynchronous function here costs two promises.
 */
export function outcomeOf(c: Context, restore: () => void, done: Done | undefined): Outcome {
  const outgoing = done && identityOf(c) !== c ? outgoingOf(c.env) : undefined
  if (outgoing) whenAnswered(outgoing, (status, ended) => void done?.(status, c, ended))
  const settle = outgoing ? undefined : done
  const responded = (): void => {
    restore()
    if (settle) whenRead(c, settle)
  }
  const threw = (thrown: unknown): void => {
    // Thrown through middleware that composes others, such as `every`: the app's error handler has yet to answer.
    if (isAnswered(c, thrown)) onceResponded(c, responded)
    else if (settle) waitUntil(c, settle(isAbandoned(c.req.raw, c.env) ? undefined : statusOf(thrown), c))
  }
  return { responded, threw }
}

/**
 * Whether the answer to an error is set on the context. Hono returns it directly if the request has one handler only, and lets
 * servers answer a thrown value that is not an Error.
 */
const isAnswered = ({ req }: Context, thrown: unknown): boolean =>
  thrown instanceof Error && req.matchedRoutes.length > 1

/** The status of the answer to an error that is not set on the context: undefined if an error handler may choose it. */
const statusOf = (thrown: unknown): number | undefined => (thrown instanceof Error ? statusOfThrown(thrown) : 500)

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
