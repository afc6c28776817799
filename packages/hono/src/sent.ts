import { type Outgoing as NodeOutgoing, outgoingOf, whenClosed } from '@spillway/core/http'
import type { Context, Next } from 'hono'

/** The part of Node's response that is used; the Node server hands it over in the bindings. */
interface Outgoing extends NodeOutgoing {
  readonly statusCode: number
}

type Done = (status: number) => Promise<void>

/**
 * Goes on to the handler, and calls back with the status when its response has gone out, the last of a stream included,
 * or its client has gone away. Node tells when that is. Elsewhere it is when the body has been read to its end, or nobody
 * reads it any more; what is to be done then outlasts the response, which Workers have to be told.
 */
export async function nextThen(c: Context, next: Next, done: Done): Promise<void> {
  const outgoing = outgoingOf<Outgoing>(c.env)
  if (outgoing) {
    whenClosed(outgoing, () => void done(outgoing.statusCode))
    return next()
  }
  try {
    await next()
  } catch (thrown) {
    // What is no Error passes by the app's error handler.
    outlive(c, done(500))
    throw thrown
  }
  const { body, status } = c.res
  if (body === null) {
    outlive(c, done(status))
    return
  }
  // Room for one piece, so that a body that is a text is through whether or not anybody reads it.
  const { readable, writable } = new TransformStream(undefined, undefined, { highWaterMark: 1 })
  const read = body.pipeTo(writable).catch(() => {})
  c.res = new Response(readable, c.res)
  outlive(
    c,
    read.then(() => done(status)),
  )
}

function outlive(c: Context, work: Promise<void>): void {
  try {
    c.executionCtx.waitUntil(work)
  } catch {} // There is none but on Workers and the like.
}
