import type { SlidingLogTaken } from '../../kernels/sliding-log.ts'
import type { Decide } from '../decision.ts'
import { allow, deny } from '../decision-of.ts'
import type { SlidingLogQuota } from '../quota-types.ts'

/** Turns the results of a log's step into decisions. */
export const decideLog =
  (policy: string, { limit }: SlidingLogQuota, cost: number): Decide<SlidingLogTaken> =>
  ({ allowed, now, used, fitsAt, freesAt, emptyAt }) => {
    const remaining = used > limit ? 0 : limit - used
    const replenish = used === 0 ? 0 : freesAt - now
    if (allowed) return allow(policy, limit, remaining, cost, emptyAt - now, replenish, 0)
    const retry = cost > limit ? Infinity : fitsAt - now
    return deny(policy, limit, remaining, cost, emptyAt - now, replenish, retry)
  }
