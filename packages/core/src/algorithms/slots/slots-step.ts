import { LONGEST } from '../../common/time.ts'
import type { SlotsStep, SlotsTaken } from '../../kernels/slots.ts'
import type { SlotsQuota } from '../quota-types.ts'
import type { StepOptions, Verb } from '../step-options.ts'
import { needsUnits } from '../verbs.ts'

/** Reduces a verb on slots to a kernel step: a refund releases them. */
export function slotsStep(
  { limit, window }: SlotsQuota,
  verb: Verb,
  cost: number,
  { original }: StepOptions,
): SlotsStep {
  return {
    kernel: 'slots',
    increment: verb === 'refund' ? -cost : cost,
    check: needsUnits(verb) ? cost : -LONGEST,
    limit,
    ttl: window,
    id: (original as SlotsTaken | undefined)?.id ?? 0,
    peek: verb === 'peek',
  }
}

export type { SlotsTaken }

/** The step that renews slots. */
export const renewal = (quota: SlotsQuota, cost: number, original: SlotsTaken): SlotsStep =>
  slotsStep(quota, 'charge', cost, { original })
