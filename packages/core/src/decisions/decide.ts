import { LONGEST, type Micros } from '../common/time.ts'
import type { Taken } from '../kernels/kernel.ts'
import type { PenaltyTaken } from '../kernels/penalty.ts'
import type { SlidingLogTaken } from '../kernels/sliding-log.ts'
import type { Calendar, SlidingWindowTaken } from '../kernels/sliding-window.ts'
import type { WarmUpStep, WarmUpTaken } from '../kernels/warm-up.ts'
import { isBlockList } from '../quotas/block-list.ts'
import type { PenaltyQuota, SlidingLogQuota, SlidingWindowQuota, WarmUpQuota } from '../quotas/quota-types.ts'
import type { Decide, Decision } from './decision.ts'
import { allow, deny } from './decision-of.ts'

// What turns the results of a step into decisions: remaining units and waits are computed in this folder only. These are hot
// paths: engines inline small functions over numbers, and then allocate neither their arguments nor their results.

export const decideLog =
  (policy: string, { limit }: SlidingLogQuota, cost: number): Decide<SlidingLogTaken> =>
  ({ allowed, now, used, fitsAt, freesAt, emptyAt }) => {
    const remaining = used > limit ? 0 : limit - used
    const replenish = used === 0 ? 0 : freesAt - now
    if (allowed) return allow(policy, limit, remaining, cost, emptyAt - now, replenish, 0)
    const retry = cost > limit ? Infinity : fitsAt - now
    return deny(policy, limit, remaining, cost, emptyAt - now, replenish, retry)
  }

/** A key allows one unit when its turn has come, however cold it is. */
export const decideWarmUp =
  (policy: string, { limit, burst }: WarmUpQuota, cost: number, step: WarmUpStep): Decide<WarmUpTaken> =>
  ({ allowed, aheadBefore, ahead }) => {
    const left = ahead === 0 ? 1 : 0
    if (allowed) return allow(policy, limit, left, cost, ahead, ahead, step.tolerance === LONGEST ? 0 : aheadBefore)
    return deny(policy, limit, left, cost, ahead, ahead, cost > burst ? Infinity : aheadBefore)
  }

/** The units of a key refill at midnight of the calendar's zone, whatever the time of the request that consumed them. */
export const decideCalendar =
  (policy: string, { limit, calendar }: SlidingWindowQuota, cost: number): Decide<SlidingWindowTaken> =>
  ({ allowed, now, start, current }) =>
    atOnce(policy, limit, cost, allowed, limit - current, (calendar as Calendar).endOf(start, now) - now)

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

/** A decision by a quota whose units all refill at once, in `end`. A block list reports another limit than it has. */
function atOnce(
  policy: string,
  limit: number,
  cost: number,
  allowed: boolean,
  rest: number,
  end: Micros,
  most: number = limit,
): Decision {
  const remaining = Math.max(rest, 0)
  const reset = remaining === limit ? 0 : end
  if (allowed) return allow(policy, most, remaining, cost, reset, reset, 0)
  return deny(policy, most, remaining, cost, reset, reset, cost > limit ? Infinity : end)
}
