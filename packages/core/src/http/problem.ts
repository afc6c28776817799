import type { Decision } from '../decision.ts'
import { seconds } from './headers.ts'

/** The answer to a request that is not let through. */
export interface Refusal {
  readonly status: 429 | 503
  readonly contentType: string
  readonly body: string
}

/** A 429 with a problem document (RFC 9457) of the type that the RateLimit drafts register. */
export function quotaExceeded(decision: Decision): Refusal {
  const body = {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: detailOf(decision),
    'violated-policies': decision.violated,
  }
  return { status: 429, contentType: 'application/problem+json', body: JSON.stringify(body) }
}

function detailOf({ retryAfterMs, cost, policy, limit }: Decision): string {
  if (retryAfterMs === Infinity) {
    return `This request costs ${cost} units; policy "${policy}" never allows more than ${limit} at once.`
  }
  const wait = seconds(retryAfterMs)
  return `Policy "${policy}" allows this request again in ${wait} ${wait === 1 ? 'second' : 'seconds'}.`
}
