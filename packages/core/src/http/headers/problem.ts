import { formatValue, QuotaError } from '../../common/errors.ts'
import { type Decision, NONE } from '../../decisions/decision.ts'
import type { Quota } from '../../quotas/quota-types.ts'
import { type ShownNames, shownName } from './display-names.ts'
import { type Header, seconds } from './headers.ts'

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

/** The problem type of a policy's denials: the client has used up its quota, or its request pattern is abnormal. */
export type ProblemOption = 'quota-exceeded' | 'abnormal-usage-detected'

/** The option for the problem type of a policy's denials. */
export interface ProblemOptions {
  /**
   * The problem type of this policy's denials.
   * @default `'quota-exceeded'`; of a `penalty`, `'abnormal-usage-detected'`
   */
  readonly problem?: ProblemOption
}

/** The problem type of a quota's denials by default. */
export const problemOf = ({ kernel }: Pick<Quota, 'kernel'>): ProblemOption =>
  kernel === 'penalty' ? 'abnormal-usage-detected' : 'quota-exceeded'

/** Builds the answer to a denied request. */
export type DenialBuilder = (decision: Decision, names?: ShownNames) => Denial

/**
 * Builds the function that answers a policy's denials. During an attack it runs more often than anything else, so the
 * parts that most denials share are serialized once.
 */
export function denialBuilder(name: string, problem: ProblemOption): DenialBuilder {
  const start = `${BEGINNING[problem]}"${againIn(name)}`
  const end = `","violated-policies":["${inJson(name)}"],"retry-after-ms":`
  return (decision, names) => {
    const { violated, retryAfterMs, degraded } = decision
    if (degraded?.action === 'deny') return denialOf('temporary-reduced-capacity', decision, names)
    if (names || violated.length > 1 || retryAfterMs === 0 || retryAfterMs === Infinity) {
      return denialOf(problem, decision, names)
    }
    return answer(problem, `${start}${inSeconds(retryAfterMs)}${end}${inMillis(retryAfterMs)}}`)
  }
}

export function checkProblem(problem: unknown): void {
  if (problem === undefined || problem === 'quota-exceeded' || problem === 'abnormal-usage-detected') return
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `problem must be 'quota-exceeded' or 'abnormal-usage-detected'; got ${formatValue(problem)}.`,
  )
}

// The problem types (RFC 9457) that the RateLimit drafts register.
const TYPES = 'https://iana.org/assignments/http-problem-types#'

type Kind = ProblemOption | 'temporary-reduced-capacity'

const STATUS: Readonly<Record<Kind, number>> = {
  'quota-exceeded': 429,
  'abnormal-usage-detected': 429,
  // Not 429: the server does not know whether the client has used up its quota.
  'temporary-reduced-capacity': 503,
}

const TITLE: Readonly<Record<Kind, string>> = {
  'quota-exceeded': 'Request cannot be satisfied as assigned quota has been exceeded',
  'abnormal-usage-detected': 'Request not satisfied due to detection of abnormal request pattern',
  'temporary-reduced-capacity': 'Request cannot be satisfied due to temporary server capacity constraints',
}

/* @__NO_SIDE_EFFECTS__ */
const beginning = (kind: Kind): string =>
  `{"type":"${TYPES}${kind}","title":"${TITLE[kind]}","status":${STATUS[kind]},"detail":`

const BEGINNING: Readonly<Record<Kind, string>> = {
  'quota-exceeded': beginning('quota-exceeded'),
  'abnormal-usage-detected': beginning('abnormal-usage-detected'),
  'temporary-reduced-capacity': beginning('temporary-reduced-capacity'),
}

function denialOf(kind: Kind, decision: Decision, names: ShownNames | undefined): Denial {
  const { violated, retryAfterMs } = decision
  const detail =
    kind === 'temporary-reduced-capacity'
      ? 'The request could not be counted, and is therefore not served for now.'
      : detailOf(decision, shownName(decision.policy, names))
  const policies = violated.map((policy) => `"${inJson(shownName(policy, names))}"`).join(',')
  // More precise than Retry-After, which has whole seconds only; null if no wait helps, omitted if the wait is unknown.
  const wait = retryAfterMs === 0 ? '' : `,"retry-after-ms":${Number.isFinite(retryAfterMs) ? retryAfterMs : null}`
  return answer(kind, `${BEGINNING[kind]}"${detail}","violated-policies":[${policies}]${wait}}`)
}

const answer = (kind: Kind, body: string): Denial => ({
  status: STATUS[kind],
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
  return againIn(policy) + inSeconds(retryAfterMs)
}

const againIn = (policy: string): string => `Policy \\"${inJson(policy)}\\" allows this request again in `

function inSeconds(millis: number): string {
  const wait = seconds(millis)
  return wait === 1 ? '1 second.' : `${wait} seconds.`
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
