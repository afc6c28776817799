import { LONGEST } from '../common/time.ts'
import type { SlidingLogStep } from '../kernels/sliding-log.ts'
import type { SlidingLogQuota } from '../quotas/quota-types.ts'
import type { StepOptions, Verb } from './step-options.ts'

/** Reduces a verb on a log to a kernel step. */
export function logStep(
  { limit, window }: SlidingLogQuota,
  verb: Verb,
  cost: number,
  { original }: StepOptions,
): SlidingLogStep {
  const taking = verb === 'consume' || verb === 'peek'
  return {
    kernel: 'sliding-log',
    increment: verb === 'refund' ? -cost : cost,
    check: taking ? cost : -LONGEST,
    limit,
    window,
    since: original?.now ?? 0,
    peek: verb === 'peek',
  }
}
