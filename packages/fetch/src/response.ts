import { type AdapterParts, type Denial, isCookie } from '@spillway/core/http'
import { processState } from '@spillway/core/internal'

type Join = Pick<AdapterParts<Request>, 'join'>

/**
 * The response to a denied request, including the headers of earlier limiters. `limitHeaders` loses those that the answer
 * has itself: limiters around this one set the rest again.
 */
export function denialResponse(
  request: Request,
  denial: Denial,
  limitHeaders: Map<string, string>,
  parts: Join,
): Response {
  const { status, contentType, body, response } = denial
  if (response) return withLimitHeaders(response as Response, request, limitHeaders, parts)
  const headers = new Headers([...limitHeaders])
  for (const [name, value] of denial.headers) {
    if (isCookie(name)) headers.append(name, value)
    else headers.set(name, value)
  }
  const own = new Set(denial.headers.map(([name]) => name.toLowerCase()))
  for (const name of limitHeaders.keys()) if (own.has(name.toLowerCase())) limitHeaders.delete(name)
  headers.set('Content-Type', contentType)
  return new Response(request.method === 'HEAD' ? null : body || null, { status, headers })
}

/** The request that each response has answered. */
const answeredBy = (): WeakMap<Response, Request> => processState('fetch responses', () => new WeakMap())

/**
 * The response with its headers: itself, or a copy if it is immutable or may answer other requests as well, as one without
 * a body can.
 */
export function withLimitHeaders(
  answer: Response,
  request: Request,
  limitHeaders: ReadonlyMap<string, string>,
  parts: Join,
): Response {
  if (limitHeaders.size === 0) return answer
  const own = !isReusable(answer, request) && (answeredBy().get(answer) ?? request) === request
  answeredBy().set(answer, request)
  if (own) {
    try {
      return withHeaders(answer, limitHeaders, parts)
    } catch {} // The headers of fetch() and Response.redirect() are immutable.
  }
  // That of an upgraded connection must not be copied: Deno recognises it. That of Response.error() cannot be.
  return answer.status < 200 ? answer : withHeaders(new Response(bodyFor(request, answer), answer), limitHeaders, parts)
}

/** The body of a copy. One that was read cannot be copied, and HEAD needs none. */
const bodyFor = ({ method }: Request, { body, bodyUsed }: Response): Response['body'] =>
  method === 'HEAD' && (bodyUsed || body?.locked) ? null : body

/**
 * Whether a response can be sent again: it has no body, or its body is not read. The response of an upgraded connection
 * cannot, and must not be copied.
 */
function isReusable(response: Response, { method }: Request): boolean {
  const { status, headers } = response
  if (status === 101) return false
  if (method === 'HEAD' || status === 204 || status === 304) return true
  // A type announces a body. To read `body` would make servers send a stream instead of a text.
  return !headers.has('content-type') && response.body === null
}

function withHeaders(response: Response, limitHeaders: ReadonlyMap<string, string>, { join }: Join): Response {
  const before = (name: string): string | null => response.headers.get(name)
  for (const [name, value] of join([...limitHeaders], false, before)) response.headers.set(name, value)
  return response
}
