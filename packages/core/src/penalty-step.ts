import { MOST_UNITS, type PenaltyStep, type PenaltyTaken } from './kernels/penalty.ts'
import type { PenaltyQuota } from './quota-types.ts'
import type { StepOptions, Verb } from './step-options.ts'

/** Reduces a verb on a penalty to a kernel step. */
export function penaltyStep(
  { limit, window, block, grow, max, forgive, extend }: PenaltyQuota,
  verb: Verb,
  cost: number,
  { original, blockMicros }: StepOptions,
): PenaltyStep {
  const taking = verb === 'consume' || verb === 'peek'
  return {
    kernel: 'penalty',
    increment: verb === 'refund' ? -cost : cost,
    check: taking ? cost : -2 * MOST_UNITS,
    limit,
    window,
    ...(blockMicros === undefined ? { block, grow, max } : { block: blockMicros, grow: 1, max: blockMicros }),
    forgive,
    since: (original as PenaltyTaken | undefined)?.first ?? 0,
    extend: extend && verb === 'consume',
    peek: verb === 'peek',
  }
}
