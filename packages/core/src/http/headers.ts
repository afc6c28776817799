import type { Decision } from '../decision.ts'
import type { Booking, Policy } from '../policy.ts'

/** A header as the adapters set it. */
export type Header = readonly [name: string, value: string]

/** The headers that tell a client of a booking; `Retry-After` alone where `told` is false. */
export function headersFor({ asks, decision }: Booking, told: boolean): readonly Header[] {
  const retry = retryAfter(decision)
  // Without the store there are no numbers to tell.
  if (!told || decision.degraded) return retry
  const decisions = decision.policies ?? [decision]
  return [
    ['RateLimit-Policy', asks.map(({ policy }) => policyItem(policy)).join(', ')],
    ['RateLimit', decisions.map(limitItem).join(', ')],
    ...retry,
  ]
}

/** A header's value where another limiter has set it already: the draft's lists are joined, others replaced. */
export const joined = (before: unknown, [name, value]: Header): string =>
  typeof before === 'string' && (name === 'RateLimit' || name === 'RateLimit-Policy') ? `${before}, ${value}` : value

/** `Retry-After` (RFC 9110, section 10.2.3), where waiting helps. */
function retryAfter({ allowed, retryAfterMs }: Decision): readonly Header[] {
  return allowed || retryAfterMs === 0 || retryAfterMs === Infinity
    ? []
    : [['Retry-After', String(seconds(retryAfterMs))]]
}

const items = new WeakMap<Policy, string>()

/**
 * A policy as `RateLimit-Policy` tells it in drafts 08 to 11 of draft-ietf-httpapi-ratelimit-headers: `"name";q=100;w=60`.
 * The window is rounded up to whole seconds, which is never more than the quota really allows. Written once a policy.
 */
function policyItem(policy: Policy): string {
  const known = items.get(policy)
  if (known) return known
  const { name, quota } = policy
  const item = `${quoted(name)};q=${integer(quota.limit)};w=${integer(Math.ceil(quota.window / 1e6))}`
  items.set(policy, item)
  return item
}

/** What is left, as `RateLimit` tells it: `"name";r=50;t=30`. `t` is left out where no time will ever bring more. */
function limitItem({ policy, remaining, allowed, retryAfterMs, replenishAfterMs }: Decision): string {
  const wait = seconds(allowed ? replenishAfterMs : retryAfterMs)
  const item = `${quoted(policy)};r=${integer(remaining)}`
  return wait > 0 && wait < Infinity ? `${item};t=${integer(wait)}` : item
}

/** Whole seconds, rounded up: a client that waits as long as it is told is never early. */
export const seconds = (millis: number): number => Math.ceil(millis / 1000)

/** A structured-field string (RFC 9651, section 3.3.3). */
const quoted = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`

/** A structured-field integer: fifteen digits at most. */
const integer = (value: number): number => Math.min(value, 999_999_999_999_999)
