import {
  incomingOf,
  isAbandoned,
  isUpgrade,
  outgoingOf,
  statusOfThrown,
  UPGRADED,
  untilRead,
  type Verdict,
  whenAnswered,
} from '@spillway/core/http'
import { hasMethod } from '@spillway/core/internal'

/** Settles a request by its response, or by a response that stands for what is `thrown`. Returns the response to send. */
export type Settle = (answer: Response, status?: number, thrown?: boolean) => Response

/**
 * Returns what settles a request when its response has been read to the end or cancelled. `context` and `beside` are what the
 * runtime passes beside the request.
 */
export function settler(
  request: Request,
  context: unknown,
  beside: readonly unknown[],
  after: Verdict<Response>['after'],
): Settle {
  if (after === undefined) return (answer) => answer
  return (answer, status = isUpgrade(answer) ? UPGRADED : answer.status, thrown = false) => {
    const outgoing = incomingOf(request, context) && outgoingOf(context)
    // Node's server answers errors and upgrades by itself.
    if (outgoing && (thrown || outgoing.req?.upgrade)) {
      whenAnswered(outgoing, (sent, ended) => void after(sent, answer, ended))
      return answer
    }
    const known = isAbandoned(request, context) ? undefined : status
    const sent = status === UPGRADED ? undefined : untilRead(answer.body, request.method)
    const response = sent ? new Response(sent.copy, answer) : answer
    waitUntil(
      beside,
      (sent?.read ?? Promise.resolve()).then(() => after(known, response)),
    )
    return response
  }
}

/** Keeps runtimes running for work that outlasts the response: Workers pass how to after the bindings, Netlify before. */
function waitUntil([first, second]: readonly unknown[], work: Promise<void>): void {
  const runtime = [second, first].find((each) => hasMethod(each, 'waitUntil')) as Runtime | undefined
  runtime?.waitUntil(work)
}

interface Runtime {
  waitUntil(work: Promise<void>): void
}

/** What answers a request whose handler has thrown, without its body: a `Response`, as React Router sends it, or an error. */
export function responseTo(thrown: unknown): Response {
  if (thrown instanceof Response && thrown.status >= 200) return new Response(null, thrown)
  return new Response(null, { status: statusOfThrown(thrown) ?? statusOfNext(thrown) ?? 500 })
}

/** The status that functions of Next.js throw, such as `notFound()` and `redirect()`. */
function statusOfNext(thrown: unknown): number | undefined {
  const { digest } = Object(thrown) as { readonly digest?: unknown }
  const [, status] = /^NEXT_.*;([2-5]\d\d);?$/.exec(String(digest)) ?? []
  return status === undefined ? undefined : Number(status)
}
