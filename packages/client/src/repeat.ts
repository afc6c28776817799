/** Methods that may be sent again (RFC 9110, section 9.2.2). */
const IDEMPOTENT = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']
/** Bodies that may be read again. */
const REPLAYABLE = /^\[object (?:String|URLSearchParams|FormData|Blob|File|ArrayBuffer|DataView|\w{1,20}Array)\]$/

/** A call as `fetch` takes it. */
export interface FetchCall {
  readonly input: Parameters<typeof fetch>[0]
  readonly init: RequestInit | undefined
}

/** Whether a call may be sent again: it is idempotent, or has an `Idempotency-Key`, and so is its body, if it has one. */
export function canRepeat({ input, init }: FetchCall, method: string, headers: () => Headers): boolean {
  if (!IDEMPOTENT.includes(method) && !headers().has('idempotency-key')) return false
  const body: unknown = init?.body ?? (isRequest(input) ? bodyOf(input, method) : null)
  return body === null || (REPLAYABLE.test(Object.prototype.toString.call(body)) && !('pipe' in Object(body)))
}

/** Not all browsers have the body of a request. */
const bodyOf = (request: Request, method: string): unknown =>
  method === 'GET' || method === 'HEAD' ? null : request.body === undefined ? request : request.body

/** Whether it is a `Request`, of any realm. */
export const isRequest = (input: FetchCall['input']): input is Request =>
  typeof input === 'object' && 'url' in input && 'headers' in input
