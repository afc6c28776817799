import { joinHeaders, type Refusal, type Verdict } from '@spillway/core/http'

/** The answer to a request that is refused, with the headers that limiters before this one have to tell, too. */
export function refusing(request: Request, refusal: Refusal, told: ReadonlyMap<string, string>): Response {
  const { status, contentType, body, response } = refusal
  if (response) return telling(response as Response, request, told)
  const headers = { ...Object.fromEntries([...told, ...refusal.headers]), 'Content-Type': contentType }
  return new Response(request.method === 'HEAD' ? null : body, { status, headers })
}

/** The request that a response has been the answer to. */
const answered = new WeakMap<Response, Request>()

/** The response with its headers: itself, or a copy where it cannot be changed or answers another request as well. */
export function telling(answer: Response, request: Request, told: ReadonlyMap<string, string>): Response {
  // The one that Response.error() makes takes no headers, and no copy can be made of it.
  if (told.size === 0 || answer.status === 0) return answer
  const own = (answered.get(answer) ?? request) === request
  answered.set(answer, request)
  if (own) {
    try {
      return withHeaders(answer, told)
    } catch {} // As fetch() and Response.redirect() make them, headers cannot be changed.
  }
  return withHeaders(new Response(answer.body, answer), told)
}

function withHeaders(response: Response, told: ReadonlyMap<string, string>): Response {
  const before = (name: string): string | null => response.headers.get(name)
  for (const [name, value] of joinHeaders([...told], false, before)) response.headers.set(name, value)
  return response
}

/** The response, which settles what its request took when it has been read; `context` is what Workers hand over. */
export function settling(answer: Response, after: Verdict<Response>['after'], context: unknown): Response {
  if (after === undefined) return answer
  const [response, read] = untilRead(answer)
  outlive(
    context,
    read.then(() => after(response.status, response)),
  )
  return response
}

/** Lets the runtime stay awake for work that outlasts the response, where it would not by itself, as Workers. */
function outlive(context: unknown, work: Promise<void>): void {
  const { waitUntil } = (context ?? {}) as { waitUntil?: (work: Promise<void>) => void }
  waitUntil?.call(context, work)
}

/**
 * The response, and a promise that is kept when it has been read to its end, or nobody reads it any more. A response
 * without a body is itself, and read.
 */
function untilRead(response: Response): readonly [response: Response, read: Promise<void>] {
  if (response.body === null) return [response, Promise.resolve()]
  // Room for one piece, so that a body that is a text is through whether or not anybody reads it.
  const { readable, writable } = new TransformStream(undefined, undefined, { highWaterMark: 1 })
  return [new Response(readable, response), response.body.pipeTo(writable).catch(() => {})]
}
