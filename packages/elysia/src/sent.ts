import {
  type Answered,
  isAbandoned,
  outgoingOf,
  srvxContext,
  untilRead,
  type Verdict,
  whenAnswered,
} from '@spillway/core/http'

type After = NonNullable<Verdict<Response>['after']>
type Handler = (request: Request) => Response | Promise<Response>

/** What to call when the response to a request has been sent, of all limiters that the request has passed. */
const pending = new WeakMap<Request, readonly After[]>()

/** Calls back when the response to a request has been sent. */
export function settleLater(request: Request, after: After): void {
  pending.set(request, [...(pending.get(request) ?? []), after])
}

/**
 * Wraps an app's handler: a response counts as sent when its body has been read to the end or cancelled. An app that is
 * wrapped twice settles once.
 */
export const settling =
  (handler: Handler): Handler =>
  (request) => {
    const response = handler(request)
    return response instanceof Promise
      ? response.then(
          (known) => whenRead(request, known),
          (error) => {
            // Elysia does not answer an error such as undefined: the server does.
            whenRead(request, new Response(null, { status: 500 }))
            throw error
          },
        )
      : whenRead(request, response)
  }

/** Settles a request when its response has been read to the end or cancelled. Returns the response to send. */
export function whenRead(request: Request, response: Response): Response {
  const context = srvxContext(request) ?? {}
  const settle = settlementOf(request, response)
  if (settle === undefined) return response
  const outgoing = outgoingOf(context)
  if (outgoing?.req?.upgrade) {
    whenAnswered(outgoing, settle)
    return response
  }
  const status = isAbandoned(request, context) ? undefined : response.status
  const sent = untilRead(response.body, request.method)
  if (sent) void sent.read.then(() => settle(status))
  else settle(status)
  return sent ? new Response(sent.copy, response) : response
}

/** What settles a request by the status of its response, once. */
function settlementOf(request: Request, response: Response): Answered | undefined {
  const afters = pending.get(request)
  pending.delete(request)
  return afters && ((status, ended) => void Promise.all(afters.map((after) => after(status, response, ended))))
}

/** Settles when Elysia reports that it has sent a response. */
export const settleNow = ({ request, response, set }: Sent): void => {
  const sent =
    response instanceof Response
      ? response
      : new Response(null, { status: statusOf(response, set.status), headers: textsOf(set.headers) })
  settlementOf(request, sent)?.(request.signal.aborted ? undefined : sent.status)
}

/** The headers that are one text. */
const textsOf = (headers: Sent['set']['headers'] = {}): [string, string][] =>
  Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string')

/** The status of what a handler returned: an error without a status, or a status that no response can have, is a 500. */
function statusOf(returned: unknown, set: number | string = 200): number {
  const status = Number(set)
  const failed = returned instanceof Error && status === 200
  return status >= 200 && status <= 599 && !failed ? status : 500
}

/** The part that is read of what Elysia reports. */
export interface Sent {
  readonly request: Request
  readonly response?: unknown
  readonly set: { readonly status?: number | string; readonly headers?: Readonly<Record<string, unknown>> }
}
