import { LONGEST } from '../../common/time.ts'
import type { SlidingLogStep } from '../../kernels/sliding-log.ts'
import type { SlidingLogQuota } from '../quota-types.ts'
import type { StepOptions, Verb } from '../step-options.ts'
import { needsUnits } from '../verbs.ts'

/** Reduces a verb on a log to a kernel step. */
export function logStep(
  { limit, window }: SlidingLogQuota,
  verb: Verb,
  cost: number,
  { original }: StepOptions,
): SlidingLogStep {
  const needs = needsUnits(verb)
  return {
    kernel: 'sliding-log',
    increment: verb === 'refund' ? -cost : cost,
    check: needs ? cost : -LONGEST,
    limit,
    window,
    since: original?.now ?? 0,
    peek: verb === 'peek',
  }
}
