import { slotsKernel } from '../../kernels/kernels.ts'
import type { SlotsStep, SlotsTaken } from '../../kernels/slots.ts'
import type { Algorithm } from '../algorithm.ts'
import type { SlotsQuota } from '../quota-types.ts'
import { shareOf } from '../shares.ts'
import { decideSlots } from './decide-slots.ts'
import { slotsChecks } from './slots-checks.ts'
import { slotsStep } from './slots-step.ts'

/** How many units are in use at once. */
export const slotsAlgorithm: Algorithm<SlotsQuota, SlotsStep, SlotsTaken> = {
  kernel: slotsKernel,
  checks: slotsChecks,
  stepFor: slotsStep,
  decider: decideSlots,
  divide: (quota, replicas) => Object.freeze({ ...quota, limit: shareOf(quota.limit, replicas) }),
}
