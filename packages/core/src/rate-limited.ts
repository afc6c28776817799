import type { Decision } from './decision.ts'
import { type ErrorCode, withAnchor } from './errors.ts'

/**
 * `wait` was refused: the wait would be longer than the caller has patience for, the queue is full, or no wait is long
 * enough.
 */
export class RateLimitedError extends Error {
  /** The name of the class. */
  override readonly name = 'RateLimitedError'
  /** Its section of `docs/errors.md`. */
  readonly code: ErrorCode = 'ERR_SPILLWAY_RATE_LIMITED'
  /** The refusal: `retryAfterMs` tells how long the wait would have been, or when a full queue has room again. */
  readonly decision: Decision

  constructor(decision: Decision, queues = false) {
    super(withAnchor(`Not waiting: ${whyNot(decision, queues)}.`, 'ERR_SPILLWAY_RATE_LIMITED'))
    this.decision = decision
  }
}

function whyNot({ policy, retryAfterMs, cost }: Decision, queues: boolean): string {
  const units = cost === 1 ? '1 unit' : `${cost} units`
  if (retryAfterMs === Infinity) return `${units} are more than policy "${policy}" ever allows at once`
  if (queues)
    return `the queue of policy "${policy}" is full up to maxWait; it has room for ${units} in ${retryAfterMs} ms`
  return `policy "${policy}" allows ${units} in ${retryAfterMs} ms, longer than maxWait`
}
