import type { Decision } from '../algorithms/decision.ts'
import { type ErrorCode, instancesNamed } from '../common/errors.ts'

/**
 * `wait` was denied: the wait would be longer than `maxWait`, the queue is full, the cost is more than the policy ever
 * allows, or the store did not answer and `onStoreError` denied the call.
 */
export class RateLimitedError extends Error {
  /** Recognises the errors of all copies of this module in the process. */
  static override readonly [Symbol.hasInstance]: (value: unknown) => boolean = instancesNamed('RateLimitedError')

  /** The name of the class. */
  override readonly name = 'RateLimitedError'
  /** Always `ERR_SPILLWAY_RATE_LIMITED`. */
  readonly code: ErrorCode = 'ERR_SPILLWAY_RATE_LIMITED'
  /**
   * The denial. `retryAfterMs` is how long the wait would have been, or how long until a full queue has room. If
   * `onStoreError` is `'deny'` and the store did not answer, it is 0: the wait is not known.
   */
  readonly decision: Decision

  constructor(decision: Decision, queues = false) {
    // Without a link to its page: frameworks send the messages of such errors to clients.
    super(`wait rejected: ${whyNot(decision, queues)}.`)
    this.decision = decision
  }
}

function whyNot(decision: Decision, queues: boolean): string {
  const { policy, retryAfterMs, cost, policies } = decision
  const { degraded } = policies?.find((each) => each.policy === policy) ?? decision
  if (degraded && degraded.action !== 'local')
    return `the store of policy "${policy}" did not answer, and onStoreError denied the call`
  const units = cost === 1 ? '1 unit' : `${cost} units`
  if (retryAfterMs === Infinity) return `a cost of ${units} is more than policy "${policy}" ever allows at once`
  // Nothing tells when a slot will be released.
  if (retryAfterMs === 0) return `policy "${policy}" could not allow ${units} within maxWait`
  if (queues)
    return `the queue of policy "${policy}" is full; it has room for ${units} after ${retryAfterMs} ms, more than maxWait`
  return `policy "${policy}" can allow ${units} after ${retryAfterMs} ms, which is longer than maxWait`
}
