import { isAbandoned, type Outgoing as NodeOutgoing, outgoingOf, statusOf, whenClosed } from '@spillway/core/http'
import type { H3Event } from 'h3'
import { contextOf } from './reader.ts'

/** The part of Node's response that is used. */
interface Outgoing extends NodeOutgoing {
  readonly statusCode: number
}

/** Called with the status of the response; undefined if the client disconnected before it was answered. */
type Done = (status: number | undefined, event: H3Event) => Promise<void>

/** The mark of h3's own `HTTPResponse`. */
const HTTP_RESPONSE = Symbol.for('h3.HTTPResponse')

interface ResponseLike {
  readonly [HTTP_RESPONSE]?: unknown
}

/**
 * Calls the handler, and calls back with the status when its response has been sent completely, including a stream, or
 * its client has disconnected. Node reports both. In other runtimes the response counts as sent when its body has been
 * read to the end or cancelled; `waitUntil` then keeps Workers running for the callback.
 */
export function whenSent(event: H3Event, next: () => unknown, done: Done): unknown {
  const outgoing = outgoingOf<Outgoing>(contextOf(event))
  if (outgoing === undefined) return whenRead(event, next, done)
  whenClosed(outgoing, () => void done(statusOf(outgoing, outgoing.statusCode), event))
  return next()
}

async function whenRead(event: H3Event, next: () => unknown, done: Done): Promise<unknown> {
  try {
    const result = await next()
    const status = isAbandoned(event.req, contextOf(event)) ? undefined : statusIn(result, event)
    const stream = result instanceof Response ? result.body : result
    if (!(stream instanceof ReadableStream)) {
      event.waitUntil(done(status, event))
      return result
    }
    // Buffers one chunk, so that a body of one chunk finishes even if it is never read.
    const { readable, writable } = new TransformStream(undefined, undefined, { highWaterMark: 1 })
    event.waitUntil(
      stream
        .pipeTo(writable)
        .catch(() => {})
        .then(() => done(status, event)),
    )
    return result instanceof Response ? new Response(readable, result) : readable
  } catch (thrown) {
    event.waitUntil(done((thrown as Partial<Response> | undefined)?.status ?? 500, event))
    throw thrown
  }
}

/** The status that h3 will send. A plain object is JSON, whatever its fields are called. */
function statusIn(result: unknown, { res }: H3Event): number {
  // Without a route, h3 returns a symbol.
  if (typeof result === 'symbol') return 404
  const isResponse = result instanceof Response || (result as ResponseLike | null)?.[HTTP_RESPONSE] === true
  return (isResponse ? (result as Response).status : res.status) ?? 200
}
