import type { Decision } from '../decision.ts'
import type { Quota } from '../quota.ts'

/** A header as the adapters set it. */
export type Header = readonly [name: string, value: string]

/**
 * A policy as `RateLimit-Policy` tells it in drafts 08 to 11 of draft-ietf-httpapi-ratelimit-headers: `"name";q=100;w=60`.
 * The window is rounded up to whole seconds, which is never more than the quota really allows.
 */
export const policyItem = (name: string, quota: Quota): string =>
  `${quoted(name)};q=${integer(quota.limit)};w=${integer(Math.ceil(quota.window / 1e6))}`

/** What is left, as `RateLimit` tells it: `"name";r=50;t=30`. `t` is left out where no time will ever bring more. */
export function limitItem({ policy, remaining, allowed, retryAfterMs, replenishAfterMs }: Decision): string {
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
