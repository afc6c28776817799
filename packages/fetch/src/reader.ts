import {
  connectionAddress,
  hasHiddenBody,
  joinHeaders,
  type RequestDecision,
  type RequestReader,
  type Verdict,
  whenAbandoned,
} from '@spillway/core/http'

/** What is known of a request, by all limiters that it passes. */
interface Visit {
  readonly beside: unknown
  readonly told: Map<string, string>
  decision: RequestDecision | undefined
}

const visits = new WeakMap<Request, Visit>()

/** What is known of a request, and what the runtime has handed over beside it. */
export function visitOf(request: Request, beside: unknown): Visit {
  const visit = visits.get(request) ?? { beside, told: new Map(), decision: undefined }
  visits.set(request, visit)
  return visit
}

/** Notes what a verdict tells of a request. */
export function note(visit: Visit, { decision, headers }: Verdict<Response>): void {
  if (decision) visit.decision = decision
  const { told } = visit
  for (const [name, value] of joinHeaders(headers, told.size > 0, (name) => told.get(name))) told.set(name, value)
}

/** What `rateLimit` decided about a request; undefined where it was not counted. */
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
