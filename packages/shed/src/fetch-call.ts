import { incomingOf, isUpgrade, outgoingOf, UPGRADED, untilRead, whenAbandoned } from '@spillway/core/http'
import type { Answer } from './answer.ts'
import { type Decision, endBy, enter, enterWith } from './http.ts'
import type { Permit } from './permit.ts'
import type { CallOptions, Shedder } from './shedder.ts'

/** A decision about a fetch request, and what follows its response. */
export interface FetchCall {
  readonly decision: Decision
  /** The response to send: its copy ends the permit when it has been read. */
  responded(response: Response): Response
  threw(): void
}

/** Decides about a fetch request; `beside` is what the runtime passes beside it. */
export async function enterFetch(
  shedder: Shedder,
  call: Omit<CallOptions, 'signal'>,
  request: Request,
  beside: unknown,
): Promise<FetchCall> {
  const outgoing = incomingOf(request, beside) && outgoingOf(beside)
  // Node reports when the response is over.
  if (outgoing) return { decision: await enterWith(shedder, call, outgoing), responded: (response) => response, threw }
  const decision = await enter(shedder, call, (leave) => whenAbandoned(request, beside, leave))
  if (!decision?.allowed) return { decision, responded: (response) => response, threw }
  const stop = whenAbandoned(request, beside, () => decision.abort())
  return {
    decision,
    responded: (response) => ending(decision, response, request.method, stop),
    threw: () => {
      stop()
      decision.fail()
    },
  }
}

const threw = (): void => {}

/** A response whose permit ends when its body has been read to the end or cancelled. */
function ending(permit: Permit, response: Response, method: string, stop: () => void): Response {
  const status = isUpgrade(response) ? UPGRADED : response.status
  const end = (): void => {
    stop()
    endBy(permit, status)
  }
  const sent = status === UPGRADED ? undefined : untilRead(response.body, method)
  if (sent === undefined) {
    end()
    return response
  }
  void sent.read.then(end)
  return new Response(sent.copy, response)
}

/** The answer to a request that was dropped; one that nothing reads, if its client has disconnected. */
export const responseOf = (answer: Answer | undefined): Response =>
  answer
    ? new Response(answer.body, { status: answer.status, headers: answer.headers as [string, string][] })
    : new Response(null, { status: 499 })
