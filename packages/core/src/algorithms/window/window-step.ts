import type { SlidingWindowStep, SlidingWindowTaken } from '../../kernels/sliding-window.ts'
import type { SlidingWindowQuota } from '../quota-types.ts'
import type { StepOptions, Verb } from '../step-options.ts'
import { needsUnits } from '../verbs.ts'

/** The most units times ticks that a window counts: sums of two of them and of the largest limit are at most 2^53. */
const MOST_COUNTED = 3 * 2 ** 50

/** Reduces a verb on a window to a kernel step. */
export function windowStep(
  quota: SlidingWindowQuota,
  verb: Verb,
  cost: number,
  { original }: StepOptions,
): SlidingWindowStep {
  const { limit, window, tick, fixed, calendar, offset } = quota
  const needs = needsUnits(verb)
  const ticks = window / tick
  const most = Math.floor(MOST_COUNTED / ticks)
  return {
    kernel: 'sliding-window',
    increment: verb === 'refund' ? -cost : cost,
    check: needs ? cost : -2 * most,
    limit,
    ticks,
    tick,
    fixed,
    calendar,
    offset,
    most,
    since: (original as SlidingWindowTaken | undefined)?.start ?? 0,
    peek: verb === 'peek',
  }
}
