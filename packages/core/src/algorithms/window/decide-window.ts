import type { Micros } from '../../common/time.ts'
import type { Calendar, SlidingWindowTaken } from '../../kernels/sliding-window.ts'
import { atOnce } from '../at-once.ts'
import type { Decide } from '../decision.ts'
import { allow, deny } from '../decision-of.ts'
import type { SlidingWindowQuota } from '../quota-types.ts'

/** Turns the results of a sliding window's step into decisions. */
export function decideWindow(policy: string, quota: SlidingWindowQuota, cost: number): Decide<SlidingWindowTaken> {
  const { limit, window, tick, fixed } = quota
  const ticks = window / tick
  const most = fixed ? 1 : 2
  /** How long until `units` fit, by the previous window's fading or the current one's; no more than the limit. */
  const fitsAfter = ({ now, start, current, previous }: SlidingWindowTaken, units: number): Micros => {
    const room = limit - current - units
    const left = start - now
    if (room >= 0) return Math.max(left + fadedAfter(ticks, previous, room) * tick, 0)
    return Math.max(left + window + (fixed ? 0 : fadedAfter(ticks, current, limit - units) * tick), 0)
  }
  const unitsOf = ({ now, start, previous }: SlidingWindowTaken): number =>
    Math.floor((previous * (ticks - Math.floor((now - start) / tick))) / ticks)
  const retryAfter = (taken: SlidingWindowTaken, remaining: number, replenish: Micros): Micros => {
    if (cost > limit) return Infinity
    return cost === remaining + 1 ? replenish : fitsAfter(taken, cost)
  }
  const decideAny: Decide<SlidingWindowTaken> = (taken) => {
    const { allowed, now, start, current, previous } = taken
    const remaining = Math.max(limit - current - (previous === 0 ? 0 : unitsOf(taken)), 0)
    const windows = current > 0 ? most : previous > 0 ? 1 : 0
    const reset = windows === 0 ? 0 : start + windows * window - now
    const replenish = remaining === limit ? 0 : fitsAfter(taken, remaining + 1)
    if (allowed) return allow(policy, limit, remaining, cost, reset, replenish, 0)
    return deny(policy, limit, remaining, cost, reset, replenish, retryAfter(taken, remaining, replenish))
  }
  return windowDecider(policy, cost, limit, most * window, window + (fixed ? 0 : tick), decideAny)
}

/** Decides by itself if units of the current window were consumed, and none of the previous one: `decideAny` finds the same. */
const windowDecider =
  (
    policy: string,
    cost: number,
    limit: number,
    span: Micros,
    refill: Micros,
    decideAny: Decide<SlidingWindowTaken>,
  ): Decide<SlidingWindowTaken> =>
  (taken) => {
    const { now, start, current } = taken
    if (!taken.allowed || taken.previous > 0 || current === 0 || current > limit) return decideAny(taken)
    const past = now - start
    return allow(policy, limit, limit - current, cost, span - past, refill - past, 0)
  }

/** The ticks after which no more than `room` of `count` units of the previous window count. */
const fadedAfter = (ticks: number, count: number, room: number): number =>
  count === 0 ? 0 : Math.max(ticks - Math.floor(((room + 1) * ticks - 1) / count), 0)

/** The units of a key refill at midnight of the calendar's zone, whatever the time of the request that consumed them. */
export const decideCalendar =
  (policy: string, { limit, calendar }: SlidingWindowQuota, cost: number): Decide<SlidingWindowTaken> =>
  ({ allowed, now, start, current }) =>
    atOnce(policy, limit, cost, allowed, limit - current, (calendar as Calendar).endOf(start, now) - now)
