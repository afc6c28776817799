import { MOST_UNITS, type PenaltyStep, type PenaltyTaken } from '../../kernels/penalty.ts'
import type { PenaltyQuota } from '../quota-types.ts'
import type { StepOptions, Verb } from '../step-options.ts'
import { needsUnits } from '../verbs.ts'
import { isBlockList } from './block-list.ts'

/** Reduces a verb on a penalty to a kernel step. */
export function penaltyStep(
  quota: PenaltyQuota,
  verb: Verb,
  cost: number,
  { original, blockMicros }: StepOptions,
): PenaltyStep {
  const { limit, window, block, grow, max, forgive, extend } = quota
  const needs = needsUnits(verb)
  // A block list only looks whether a key is blocked, whatever a request costs.
  const isLook = isBlockList(quota) && blockMicros === undefined
  const units = isLook ? 0 : cost
  return {
    kernel: 'penalty',
    increment: verb === 'refund' ? 0 - units : units,
    check: needs ? (isLook ? 1 : cost) : -2 * MOST_UNITS,
    limit,
    window,
    ...(blockMicros === undefined ? { block, grow, max } : { block: blockMicros, grow: 1, max: blockMicros }),
    forgive,
    since: (original as PenaltyTaken | undefined)?.first ?? 0,
    extend: extend && verb === 'consume',
    peek: verb === 'peek',
  }
}
