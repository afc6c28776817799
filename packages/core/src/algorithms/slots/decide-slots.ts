import type { SlotsTaken } from '../../kernels/slots.ts'
import type { Decide } from '../decision.ts'
import { allow, deny } from '../decision-of.ts'
import type { SlotsQuota } from '../quota-types.ts'

/** Turns the results of a slots step into decisions. Nothing tells when a slot will be released: waits are 0. */
export const decideSlots =
  (policy: string, { limit }: SlotsQuota, cost: number): Decide<SlotsTaken> =>
  ({ allowed, used }) => {
    const remaining = Math.max(limit - used, 0)
    if (allowed) return allow(policy, limit, remaining, cost, 0, 0, 0)
    return deny(policy, limit, remaining, cost, 0, 0, cost > limit ? Infinity : 0)
  }
