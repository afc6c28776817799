import type { Decision } from '../decision.ts'
import { type Header, seconds } from './headers.ts'

/** The answer to a request that is not let through. */
export interface Refusal {
  readonly status: number
  readonly contentType: string
  readonly headers: readonly Header[]
  readonly body: string
}

/** What to answer a refused request: the parts of the refusal that are to be different. */
export type DeniedOption<R> = (request: R, decision: Decision) => Partial<Refusal> | undefined

/** The answer to a refused request: the problem document, or what the app makes of it. */
export function refusalOf<R>(decision: Decision, request: R, onDenied: DeniedOption<R> | undefined): Refusal {
  const standard = decision.degraded?.action === 'deny' ? reducedCapacity(decision) : quotaExceeded(decision)
  return onDenied ? { ...standard, ...onDenied(request, decision) } : standard
}

// The problem types (RFC 9457) that the RateLimit drafts register.
const TYPES = 'https://iana.org/assignments/http-problem-types#'

/** A 429: the client has used up its quota. */
const quotaExceeded = (decision: Decision): Refusal =>
  problem(
    429,
    'quota-exceeded',
    'Request cannot be satisfied as assigned quota has been exceeded',
    decision,
    detailOf(decision),
  )

/** A 503: the server cannot tell whether the client has. */
const reducedCapacity = (decision: Decision): Refusal =>
  problem(
    503,
    'temporary-reduced-capacity',
    'Request cannot be satisfied due to temporary server capacity constraints',
    decision,
    'The request could not be counted, and is therefore not served for now.',
  )

function problem(status: number, type: string, title: string, decision: Decision, detail: string): Refusal {
  const { violated, retryAfterMs } = decision
  const body = {
    type: `${TYPES}${type}`,
    title,
    status,
    detail,
    'violated-policies': violated,
    // Finer than Retry-After, which has whole seconds only; null where no wait helps.
    'retry-after-ms': decision.degraded ? undefined : Number.isFinite(retryAfterMs) ? retryAfterMs : null,
  }
  return { status, contentType: 'application/problem+json', headers: [], body: JSON.stringify(body) }
}

function detailOf({ retryAfterMs, cost, policy, limit }: Decision): string {
  if (retryAfterMs === Infinity) {
    return `This request costs ${cost} units; policy "${policy}" never allows more than ${limit} at once.`
  }
  const wait = seconds(retryAfterMs)
  return `Policy "${policy}" allows this request again in ${wait} ${wait === 1 ? 'second' : 'seconds'}.`
}
