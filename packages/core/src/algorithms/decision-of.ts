import type { Micros } from '../common/time.ts'
import type { Decision } from './decision.ts'

// What turns the results of a step into decisions: remaining units and waits are computed by algorithms only. These are hot
// paths: engines inline small functions over numbers, and then allocate neither their arguments nor their results.

/** An empty list, such as of the policies that deny an allowed request: it is not allocated per request. */
export const NONE: readonly never[] = /* @__PURE__ */ Object.freeze([])

/** An allowed request; times are in microseconds. */
export const allow = (
  policy: string,
  limit: number,
  remaining: number,
  cost: number,
  resetAfter: Micros,
  replenishAfter: Micros,
  delay: Micros,
): Decision => ({
  allowed: true,
  policy,
  limit,
  remaining,
  cost,
  retryAfterMs: 0,
  resetAfterMs: resetAfter / 1000,
  replenishAfterMs: replenishAfter / 1000,
  delayMs: delay > 0 ? delay / 1000 : 0,
  violated: NONE,
})

/** A denied request; times are in microseconds. */
export const deny = (
  policy: string,
  limit: number,
  remaining: number,
  cost: number,
  resetAfter: Micros,
  replenishAfter: Micros,
  retryAfter: Micros,
): Decision => ({
  allowed: false,
  policy,
  limit,
  remaining,
  cost,
  retryAfterMs: retryAfter / 1000,
  resetAfterMs: resetAfter / 1000,
  replenishAfterMs: replenishAfter / 1000,
  delayMs: 0,
  violated: [policy],
})

/**
 * Either of them, in one literal: engines make slower code for a function that has both. `wait` is the delay of an allowed
 * request, or the time until a denied one would be allowed.
 */
export const decisionOf = (
  allowed: boolean,
  policy: string,
  limit: number,
  remaining: number,
  cost: number,
  resetAfter: Micros,
  replenishAfter: Micros,
  wait: Micros,
): Decision => ({
  allowed,
  policy,
  limit,
  remaining,
  cost,
  retryAfterMs: allowed ? 0 : wait / 1000,
  resetAfterMs: resetAfter / 1000,
  replenishAfterMs: replenishAfter / 1000,
  delayMs: allowed && wait > 0 ? wait / 1000 : 0,
  violated: allowed ? NONE : [policy],
})
