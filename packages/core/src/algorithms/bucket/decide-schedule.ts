import type { Micros } from '../../common/time.ts'
import type { BucketTaken } from '../../kernels/bucket-taken.ts'
import type { BucketStep } from '../../kernels/bucket-types.ts'
import type { RefillSchedule } from '../../kernels/refill-schedule.ts'
import type { Decide, Decision } from '../decision.ts'
import { decisionOf } from '../decision-of.ts'
import type { BucketQuota } from '../quota-types.ts'
import { turnOf } from './decide-bucket.ts'

/** A bucket that refills at intervals: a tick is a unit. */
export function decideSchedule(
  policy: string,
  { limit, overdraft }: BucketQuota,
  cost: number,
  step: BucketStep,
  { interval, amount, offset }: RefillSchedule,
): Decide<BucketTaken> {
  const over = cost > limit + overdraft ? Infinity : step.check - step.tolerance
  /** How long until units have refilled, if the interval has `left` microseconds. */
  const span = (units: number, left: Micros): Micros =>
    units <= 0 ? 0 : units <= amount ? left : left + (Math.ceil(units / amount) - 1) * interval
  const decideLater = (allowed: boolean, ahead: number, wait: number, left: Micros): Decision => {
    const remaining = Math.max(limit - ahead, 0)
    const replenish = ahead === 0 ? 0 : span(Math.max(ahead - limit, 0) + 1, left)
    return decisionOf(allowed, policy, limit, remaining, cost, span(ahead, left), replenish, span(wait, left))
  }
  return scheduleDecider(policy, cost, limit, interval, amount, offset, turnOf(step), over, decideLater)
}

/** Decides by itself if all that is asked about refills at the end of the interval. */
const scheduleDecider =
  (
    policy: string,
    cost: number,
    limit: number,
    interval: Micros,
    amount: number,
    offset: Micros,
    turn: number,
    over: number,
    decideLater: (allowed: boolean, ahead: number, wait: number, left: Micros) => Decision,
  ): Decide<BucketTaken> =>
  (taken) => {
    const { allowed, now } = taken
    const count = Math.floor((now + offset) / interval)
    const tick = count * amount
    const ahead = taken.tat - tick
    const wait = taken.base - tick + (allowed ? turn : over)
    const left = (count + 1) * interval - offset - now
    if (ahead > amount || wait > amount) return decideLater(allowed, ahead, wait, left)
    const remaining = ahead > limit ? 0 : limit - ahead
    const reset = ahead === 0 ? 0 : left
    return decisionOf(allowed, policy, limit, remaining, cost, reset, reset, allowed && wait <= 0 ? 0 : left)
  }
