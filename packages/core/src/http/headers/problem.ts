import type { Decision } from '../../algorithms/decision.ts'
import { NONE } from '../../algorithms/decision-of.ts'
import { seconds } from './answer-headers.ts'
import { type ShownNames, shownName } from './display-names.ts'
import type { Header } from './headers.ts'

/** The answer to a denied request. */
export interface Denial {
  /** 429 for denied requests, 503 if a store does not answer. */
  readonly status: number
  /** The media type of the body. */
  readonly contentType: string
  /** Headers of this answer only; those of the verdict are set before them. */
  readonly headers: readonly Header[]
  /** The body as text; empty if there is none. */
  readonly body: string
  /** A `Response` that `onDenied` returned, to be sent unchanged instead of the other fields. */
  readonly response?: unknown
}

/** Builds the answer to a denied request. */
export type DenialBuilder = (decision: Decision, names?: ShownNames) => Denial

/** A problem type (RFC 9457) that the RateLimit drafts register. */
export interface ProblemType {
  readonly name: string
  readonly title: string
  readonly status: number
}

/** The client has used up its quota. */
const QUOTA_EXCEEDED: ProblemType = {
  name: 'quota-exceeded',
  title: 'Request cannot be satisfied as assigned quota has been exceeded',
  status: 429,
}

/**
 * Builds the function that answers a policy's denials. During an attack it runs more often than anything else, so the
 * parts that most denials share are serialized once. `whileUnavailable` answers what the store has not decided.
 */
export function denialBuilder(
  name: string,
  type: ProblemType = QUOTA_EXCEEDED,
  whileUnavailable?: DenialBuilder,
): DenialBuilder {
  const start = `${beginning(type)}"${again(name)}`
  const end = `","violated-policies":["${inJson(name)}"],"retry-after-ms":`
  return (decision, names) => {
    const { violated, retryAfterMs, policy, degraded } = decision
    if (whileUnavailable !== undefined && degraded?.action === 'deny') return whileUnavailable(decision, names)
    if (names || violated.length > 1 || retryAfterMs === 0 || retryAfterMs === Infinity) {
      return problemOf(type, decision, names, detailOf(decision, shownName(policy, names)))
    }
    return answer(type, `${start}${inSeconds(retryAfterMs)}${end}${inMillis(retryAfterMs)}}`)
  }
}

const beginning = ({ name, title, status }: ProblemType): string =>
  `{"type":"https://iana.org/assignments/http-problem-types#${name}","title":"${title}","status":${status},"detail":`

/** The whole problem document; `detail` is escaped for a JSON string. */
export function problemOf(
  type: ProblemType,
  { violated, retryAfterMs }: Decision,
  names: ShownNames | undefined,
  detail: string,
): Denial {
  const policies = violated.map((policy) => `"${inJson(shownName(policy, names))}"`).join(',')
  // More precise than Retry-After, which has whole seconds only; null if no wait helps, omitted if the wait is unknown.
  const wait = retryAfterMs === 0 ? '' : `,"retry-after-ms":${Number.isFinite(retryAfterMs) ? retryAfterMs : null}`
  return answer(type, `${beginning(type)}"${detail}","violated-policies":[${policies}]${wait}}`)
}

const answer = ({ status }: ProblemType, body: string): Denial => ({
  status,
  contentType: 'application/problem+json',
  headers: NONE,
  body,
})

/** A sentence for people, escaped for a JSON string. */
function detailOf({ retryAfterMs, cost, limit }: Decision, policy: string): string {
  if (retryAfterMs === Infinity) {
    if (limit === 0) return `Policy \\"${inJson(policy)}\\" allows no requests.`
    return `This request costs ${cost} units, more than policy \\"${inJson(policy)}\\" ever allows at once.`
  }
  return again(policy) + inSeconds(retryAfterMs)
}

const again = (policy: string): string => `Policy \\"${inJson(policy)}\\" allows this request again`

function inSeconds(millis: number): string {
  const wait = seconds(millis)
  // An unknown wait is 0.
  if (wait === 0) return ' later.'
  return wait === 1 ? ' in 1 second.' : ` in ${wait} seconds.`
}

/**
 * The text of a number of milliseconds, as `String` returns it. If they are whole microseconds, it is made of integers: engines
 * search several times as long for the shortest text of a fraction.
 */
export function inMillis(millis: number): string {
  const micros = Math.round(millis * 1000)
  if (micros > LONGEST_EXACT || micros / 1000 !== millis) return String(millis)
  const whole = Math.floor(micros / 1000)
  const rest = micros - whole * 1000
  if (rest === 0) return String(whole)
  const digits = rest % 100 === 0 ? 1 : rest % 10 === 0 ? 2 : 3
  return `${whole}.${String(1000 + rest).slice(1, 1 + digits)}`
}

/** 11 days in microseconds: the shortest text of a larger number may have fewer digits. */
const LONGEST_EXACT = 1e12

/** The name of a policy, printable ASCII, escaped for a JSON string. */
const inJson = (name: string): string => (/["\\]/.test(name) ? JSON.stringify(name).slice(1, -1) : name)
