import type { Decision } from '../../algorithms/decision.ts'
import { invalidOption } from '../../common/errors.ts'
import { checkOptions } from '../../common/guess.ts'
import { type Awaitable, andThen, type MaybePromise, maybePromise } from '../../common/maybe-promise.ts'
import { isCookie } from '../../http/headers/answer-headers.ts'
import type { Header } from '../../http/headers/headers.ts'
import type { Denial } from '../../http/headers/problem.ts'
import type { RequestReader } from '../../http/requests/reader.ts'

/** An answer to a denied request: the parts of the standard answer to replace. */
export interface DeniedAnswer {
  /**
   * The status, 200 to 599. With 204, 205 and 304, no body is sent.
   * @default `429`, or `503` if a store failed
   */
  readonly status?: number
  /**
   * The media type of the body.
   * @default `text/plain` for text, `application/json` for objects
   */
  readonly contentType?: string
  /**
   * Headers by name, or as pairs.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string | number>> | Iterable<readonly [string, string | number]>
  /**
   * The body: text as it is, objects and lists as JSON.
   * @default a problem document
   */
  readonly body?: string | object
}

/** The part of a fetch `Response` that is read. */
export interface WebResponse {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  arrayBuffer(): Promise<unknown>
}

/** The framework's response, if its type is known. */
type Own<A> = A extends object ? A : never

/**
 * Returns the answer to a denied request instead of the problem document: an answer or parts of it; text, which becomes
 * the body; or nothing, for the standard answer. It may also answer itself with the framework's response: then it
 * returns that response, or nothing if it has a third parameter. In Hono and with fetch it returns a `Response`.
 */
export type DeniedOption<R, A = unknown, Name extends string = string> = (
  request: R,
  decision: Decision<Name | `${Name} (blocked)`>,
  response: A,
  // biome-ignore lint/suspicious/noConfusingVoidType: what renders a page returns nothing.
) => Awaitable<DeniedAnswer | WebResponse | Own<A> | string | undefined | void>

/** The option for the answers to denied requests. */
export interface OnDeniedOptions<R, A = unknown, Name extends string = string> {
  /**
   * Answers requests that this policy denies instead of the problem document.
   * @default the limiter's `onDenied`
   */
  readonly onDenied?: DeniedOption<R, A, Name>
}

/** The answer that `onDenied` returns; undefined if it has answered itself. */
export function answerOf<R, A>(
  option: DeniedOption<R, A>,
  request: R,
  decision: Decision,
  response: A,
  standard: Denial,
  { sendsResponses = false }: Pick<RequestReader<R>, 'sendsResponses'>,
): MaybePromise<Denial | undefined> {
  const answer = (returned: unknown): Denial | undefined => {
    if (returned === undefined) return option.length > 2 ? undefined : standard
    return returned === response ? undefined : denialFrom(returned, standard, sendsResponses)
  }
  const returned: unknown = option(request, decision, response)
  // Not awaited: Fastify's reply is a thenable that settles only when its response is sent.
  return returned === response ? answer(returned) : andThen(maybePromise(returned), answer)
}

/** The names of other rate limiters, with the name to write here. */
const PEER_NAMES: Readonly<Record<string, string>> = {
  statusCode: 'status',
  code: 'status',
  message: 'body',
  error: 'body',
  type: 'contentType',
}

function denialFrom(returned: unknown, standard: Denial, sendsResponses: boolean): Denial {
  if (typeof returned === 'string') return { ...standard, contentType: TEXT, body: returned }
  if (isResponse(returned)) {
    if (sendsResponses) return { ...standard, status: returned.status, response: returned }
    throw invalidOption(
      'the answer of onDenied must be no Response here: { status, headers, body }, or answer with the third argument',
      returned,
    )
  }
  if (typeof returned !== 'object' || returned === null || Array.isArray(returned)) {
    throw invalidOption(
      "the answer of onDenied must be such as { status: 429, body: 'Slow down.' }, text, or nothing",
      returned,
    )
  }
  checkOptions('what onDenied returns', returned, ['status', 'contentType', 'headers', 'body'], (name) => {
    const here = PEER_NAMES[name]
    return `${here === undefined ? 'JSON is written as body' : `Here that is ${here}`}: { status: 429, body: { … } }.`
  })
  const { status = standard.status, contentType, headers = [], body } = returned as DeniedAnswer
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw invalidOption('status of onDenied must be 200 to 599', status)
  const pairs = headersOf(headers)
  const typed = pairs.find(([name]) => name.toLowerCase() === 'content-type')
  return {
    status,
    contentType: contentType ?? typed?.[1] ?? typeOf(body, standard),
    headers: pairs.filter((pair) => pair !== typed),
    body: WITHOUT_BODY.includes(status) ? '' : textOf(body, standard, status),
  }
}

/** The statuses of responses that have no body (RFC 9110). A `Response` rejects one, even if it is empty. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304]

const TEXT = 'text/plain; charset=utf-8'

function typeOf(body: DeniedAnswer['body'], { contentType }: Denial): string {
  if (body === undefined) return contentType
  return typeof body === 'string' ? TEXT : 'application/json'
}

function textOf(body: unknown, standard: Denial, status: number): string {
  // The problem document contains the status, too.
  if (body === undefined) return standard.body.replace(`"status":${standard.status},`, `"status":${status},`)
  if (typeof body === 'string') return body
  if (typeof body === 'object' && body !== null && !ArrayBuffer.isView(body)) return JSON.stringify(body)
  throw invalidOption('body of onDenied must be text, or an object for JSON', body)
}

function headersOf(headers: unknown): readonly Header[] {
  const pairs = typeof headers === 'object' && headers !== null ? pairsOf(headers) : undefined
  if (pairs?.every(isPair)) return fieldsOf(pairs)
  throw invalidOption("headers of onDenied must be an object such as { 'X-Reason': 'busy' }, or pairs", headers)
}

/** One field for each name, in any case, with its values as a list. A cookie has a field of its own. */
function fieldsOf(pairs: readonly (readonly [string, string | number])[]): readonly Header[] {
  const fields = new Map<unknown, Header>()
  for (const pair of pairs) {
    const [name, value] = pair
    const id = isCookie(name) ? pair : name.toLowerCase()
    const before = fields.get(id)
    fields.set(id, [name, before ? `${before[1]}, ${value}` : String(value)])
  }
  return [...fields.values()]
}

const pairsOf = (headers: object): readonly unknown[] =>
  Symbol.iterator in headers ? [...(headers as Iterable<unknown>)] : Object.entries(headers)

const isPair = (pair: unknown): pair is readonly [string, string | number] =>
  Array.isArray(pair) && typeof pair[0] === 'string' && (typeof pair[1] === 'string' || typeof pair[1] === 'number')

/** Checked by its shape: runtimes and their adapters have `Response` classes of their own. */
const isResponse = (value: unknown): value is WebResponse =>
  typeof (value as Partial<WebResponse> | null)?.arrayBuffer === 'function'
