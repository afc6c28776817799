import type { Header } from '@spillway/core/http'
import type { Context } from 'hono'

// The response of a context, in every version of Hono 4.

/**
 * The headers of the response, or those set so far. Before 4.8, `c.res` lacks headers that are set with `c.header()`
 * until a handler has answered; a response made by the context has them.
 */
export const headersOf = (c: Context): Headers => (c.finalized ? c.res : c.body(null)).headers

/** Sets headers on the response. */
export function setHeaders(c: Context, headers: readonly Header[]): void {
  if (headers.length === 0) return
  const copy = copyOf(c.res, c.req.method)
  try {
    for (const [name, value] of headers) copy.headers.set(name, value)
    replaceResponse(c, copy)
  } catch {} // It could not be copied, and is immutable.
}

/**
 * A copy of a response, which may be immutable, like that of fetch(), or answer other requests as well. A body that was
 * read cannot be copied: HEAD needs none, and to other requests such a response cannot be sent again.
 */
function copyOf(response: Response, method: string): Response {
  // That of an upgraded connection must not be copied: Deno recognises it. That of Response.error() cannot be.
  if (response.status < 200) return response
  if (!response.bodyUsed && !response.body?.locked) return new Response(response.body, response)
  return method === 'HEAD' ? new Response(null, response) : response
}

/** Replaces the response as it is: Hono adds the headers of a response that is there, which fails if it is immutable. */
export function replaceResponse(c: Context, response: Response): void {
  c.res = undefined
  c.res = response
}

/** Calls back once when the response of a context is set: by the app's error handler, or by middleware that handles errors. */
export function onceResponded(c: Context, responded: () => void): void {
  const before = Object.getOwnPropertyDescriptor(c, 'res')
  const read = (): Response | undefined => Reflect.get(Object.getPrototypeOf(c), 'res', c)
  const set = (response: Response | undefined): void => {
    if (before) Object.defineProperty(c, 'res', before)
    else Reflect.deleteProperty(c, 'res')
    c.res = response
    if (response) responded()
    else onceResponded(c, responded)
  }
  Object.defineProperty(c, 'res', { configurable: true, get: read, set })
}

/**
 * Whether the answer to an error is set on the context. Hono returns it directly if the request has one handler only, and lets
 * servers answer a thrown value that is not an Error.
 */
export const isAnswered = ({ req }: Context, thrown: unknown): boolean =>
  thrown instanceof Error && req.matchedRoutes.length > 1
