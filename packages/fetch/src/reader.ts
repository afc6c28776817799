import {
  connectionAddress,
  hasHiddenBody,
  joinHeaders,
  type RequestDecision,
  type RequestReader,
  type Verdict,
  whenAbandoned,
} from '@spillway/core/http'

/** The state of a request, shared by all limiters that it passes. */
interface Visit {
  readonly beside: unknown
  readonly told: Map<string, string>
  decision: RequestDecision | undefined
}

const visits = new WeakMap<Request, Visit>()

/** The state of a request; `beside` is what the runtime passes beside the request. */
export function visitOf(request: Request, beside: unknown): Visit {
  const visit = visits.get(request) ?? { beside, told: new Map(), decision: undefined }
  visits.set(request, visit)
  return visit
}

/** Records the decision and the headers of a verdict. */
export function note(visit: Visit, { decision, headers }: Verdict<Response>): void {
  if (decision) visit.decision = decision
  const { told } = visit
  for (const [name, value] of joinHeaders(headers, told.size > 0, (name) => told.get(name))) told.set(name, value)
}

/** The decision of `rateLimit` about a request; undefined if the request was not counted. */
export function decisionOf(request: Request): RequestDecision | undefined {
  return visits.get(request)?.decision
}

const peer = (request: Request): string | undefined => connectionAddress(request, visits.get(request)?.beside)

export const reader: RequestReader<Request> = {
  address: peer,
  peer,
  method: ({ method }) => method,
  path: ({ url }) => new URL(url).pathname,
  header: ({ headers }, name) => headers.get(name) ?? undefined,
  query: ({ url }, name) => new URL(url).searchParams.get(name) ?? undefined,
  hidesBody: (request) => hasHiddenBody(request, visits.get(request)?.beside),
  identity: (request) => request,
  sendsResponses: true,
  onGone: (request, listener) => whenAbandoned(request, visits.get(request)?.beside, listener),
}
