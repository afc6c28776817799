import type { Taken } from '../../kernels/kernel.ts'
import type { PenaltyTaken } from '../../kernels/penalty.ts'
import { atOnce } from '../at-once.ts'
import type { Decide } from '../decision.ts'
import type { PenaltyQuota } from '../quota-types.ts'
import { isBlockList } from './block-list.ts'

/** Turns the results of a penalty's step into decisions. */
export function decidePenalty(policy: string, quota: PenaltyQuota, cost: number): Decide<PenaltyTaken> {
  const { window } = quota
  const isList = isBlockList(quota)
  const limit = isList ? Math.max(quota.limit, cost) : quota.limit
  const most = isList ? 0 : limit
  return ({ allowed, now, first, count, until }) => {
    const end = (until > 0 ? until : first + window) - now
    return atOnce(policy, limit, cost, allowed, until > 0 ? 0 : limit - count, end, most)
  }
}

/** Milliseconds until the end of the block that a step has found; 0 without one. */
export const blockedMsOf = (taken: Taken): number =>
  'level' in taken && taken.until > 0 ? (taken.until - taken.now) / 1000 : 0
