import type { Decision } from './decision.ts'
import { type ErrorCode, withAnchor } from './errors.ts'

/** `wait` was refused: the wait would be longer than the caller has patience for, or no wait is long enough. */
export class RateLimitedError extends Error {
  override readonly name = 'RateLimitedError'
  readonly code: ErrorCode = 'ERR_SPILLWAY_RATE_LIMITED'
  /** The refusal: `retryAfterMs` tells how long the wait would have been. */
  readonly decision: Decision

  constructor(decision: Decision) {
    const { policy, retryAfterMs, cost } = decision
    const why =
      retryAfterMs === Infinity
        ? `${cost} units are more than policy "${policy}" ever allows at once`
        : `policy "${policy}" allows ${cost} units in ${retryAfterMs} ms, longer than maxWait`
    super(withAnchor(`Not waiting: ${why}.`, 'ERR_SPILLWAY_RATE_LIMITED'))
    this.decision = decision
  }
}
