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
  const standard = quotaExceeded(decision)
  return onDenied ? { ...standard, ...onDenied(request, decision) } : standard
}

/** A 429 with a problem document (RFC 9457) of the type that the RateLimit drafts register. */
function quotaExceeded(decision: Decision): Refusal {
  const body = {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: detailOf(decision),
    'violated-policies': decision.violated,
  }
  return { status: 429, contentType: 'application/problem+json', headers: [], body: JSON.stringify(body) }
}

function detailOf({ retryAfterMs, cost, policy, limit }: Decision): string {
  if (retryAfterMs === Infinity) {
    return `This request costs ${cost} units; policy "${policy}" never allows more than ${limit} at once.`
  }
  const wait = seconds(retryAfterMs)
  return `Policy "${policy}" allows this request again in ${wait} ${wait === 1 ? 'second' : 'seconds'}.`
}
