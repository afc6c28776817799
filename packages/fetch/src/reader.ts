import {
  type AdapterParts,
  connectionAddress,
  fetchHeader,
  hasHiddenBody,
  isAbandoned,
  type PlainReader,
  type RequestDecision,
  type RequestReader,
  type RouteReader,
  targetOf,
  type Verdict,
  whenAbandoned,
} from '@spillway/core/http'
import { calledByHand, hasMethod, processState } from '@spillway/core/internal'

/** The state of a request, shared by all limiters that it passes. */
interface RequestRecord {
  readonly context: unknown
  readonly limitHeaders: Map<string, string>
  decision: RequestDecision | undefined
}

const records = (): WeakMap<Request, RequestRecord> => processState('fetch requests', () => new WeakMap())

/** The state of a request; `beside` is what the runtime passes beside the request. */
export function recordOf(request: Request, context: unknown): RequestRecord {
  if (!hasMethod(request?.headers, 'get')) throw calledByHand('(request)', [request])
  const record = records().get(request) ?? { context, limitHeaders: new Map(), decision: undefined }
  records().set(request, record)
  return record
}

/** Records the decision and the headers of a verdict. */
export function keepVerdict(
  record: RequestRecord,
  { decision, headers }: Verdict<Response>,
  { join }: Pick<AdapterParts<Request>, 'join'>,
): void {
  if (decision) record.decision = decision
  const { limitHeaders } = record
  for (const [name, value] of join(headers, limitHeaders.size > 0, (name) => limitHeaders.get(name)))
    limitHeaders.set(name, value)
}

/** The decision of `rateLimit` about a request; undefined if the request was not counted. */
export function decisionOf(request: Request): RequestDecision | undefined {
  return records().get(request)?.decision
}

const peer = (request: Request): string | undefined => connectionAddress(request, records().get(request)?.context)

/** Whether the response is over. */
export const isOver = (request: Request, waited = true): boolean =>
  isAbandoned(request, records().get(request)?.context, waited)

/** What every limiter reads of a request. */
export const plainReader: PlainReader<Request> = {
  address: peer,
  peer,
  method: ({ method }) => method,
  header: fetchHeader,
  hidesBody: (request) => hasHiddenBody(request, records().get(request)?.context),
  responseHeader: ({ headers }: Response, name) => headers.get(name),
  sendsResponses: true,
  isOver,
}

/** What selectors and matches read of a request. */
export const routeReader: RouteReader<Request> = {
  path: ({ url }) => targetOf(url).path || '/',
  query: ({ url }) => targetOf(url).query,
}

/** How a request that waits learns that its client has disconnected. */
export const listeningReader: Pick<RequestReader<Request>, 'onClientClosed'> = {
  onClientClosed: (request, listener) => whenAbandoned(request, records().get(request)?.context, listener),
}

export const reader: RequestReader<Request> = /* @__PURE__ */ Object.assign(
  {},
  plainReader,
  routeReader,
  listeningReader,
)
