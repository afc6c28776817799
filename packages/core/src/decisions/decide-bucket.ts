import { LONGEST, type Micros } from '../common/time.ts'
import type { BucketStep } from '../kernels/bucket.ts'
import type { BucketTaken } from '../kernels/bucket-taken.ts'
import { type Fraction, MOST_SCALE, spanOf, unitsIn, wholeTick } from '../kernels/fraction.ts'
import type { RefillSchedule } from '../kernels/refill-schedule.ts'
import type { BucketQuota } from '../quotas/quota-types.ts'
import { type Decide, type Decision, decisionOf } from './decision.ts'

/** Turns the results of a bucket's step into decisions. */
export function decideBucket(policy: string, quota: BucketQuota, cost: number, step: BucketStep): Decide<BucketTaken> {
  const { limit, ticksPerUnit, overdraft, schedule } = quota
  if (limit === 0) return decideNoUnits(policy, cost)
  if (schedule !== null) return decideScheduled(policy, quota, cost, step, schedule)
  if (step.fraction !== null) return decideFraction(policy, quota, cost, step, step.fraction)
  const over = cost > limit + overdraft ? Infinity : step.check - step.tolerance
  return bucketDecider(policy, cost, limit, ticksPerUnit, limit * ticksPerUnit, turnOf(step), over)
}

/** A quota without units is full at all times, and never allows a request. */
const decideNoUnits =
  (policy: string, cost: number): Decide<BucketTaken> =>
  ({ allowed }) =>
    decisionOf(allowed, policy, 0, 0, cost, 0, 0, allowed ? 0 : Infinity)

/**
 * A bucket that refills continuously, each unit in whole microseconds. The constants are arguments, because an engine checks at
 * each use whether a constant of a closure is initialised.
 */
const bucketDecider =
  (
    policy: string,
    cost: number,
    limit: number,
    unit: Micros,
    size: Micros,
    turn: Micros,
    over: Micros,
  ): Decide<BucketTaken> =>
  (taken) => {
    const ahead = taken.tat - taken.now
    const room = size - ahead
    const remaining = room < 0 ? 0 : Math.floor(room / unit)
    const replenish = ahead === 0 ? 0 : (remaining + 1) * unit - room
    const { allowed } = taken
    const wait = taken.base - taken.now + (allowed ? turn : over)
    return decisionOf(allowed, policy, limit, remaining, cost, ahead, replenish, wait)
  }

/** A charge has no turn. A request on an overdraft has one: it waits until earlier debts are refilled. */
const turnOf = ({ tolerance, check, burst }: BucketStep): number => (tolerance === LONGEST ? -Infinity : check - burst)

/** A bucket that refills at intervals: a tick is a unit. */
function decideScheduled(
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

/** A bucket whose units take parts of a microsecond: numbers are `tick − early / scale`, apart instead of in objects. */
function decideFraction(
  policy: string,
  quota: BucketQuota,
  cost: number,
  step: BucketStep,
  fraction: Fraction,
): Decide<BucketTaken> {
  const { limit, ticksPerUnit, scale } = quota
  const { check, tolerance, burst } = fraction
  const over = cost > limit + quota.overdraft ? Infinity : step.check - step.tolerance
  const turn = turnOf(step)
  const size = limit * ticksPerUnit
  const afterUsed = (used: number, ahead: number, early: number): Micros => {
    const span = spanOf(used, ticksPerUnit, scale)
    return wholeTick(ahead - span.tick, early - span.early, scale)
  }
  return ({ allowed, now, base, tat, early }) => {
    const ahead = tat - now
    const tatEarly = early === undefined ? 0 : early.tat
    const due = check + (early === undefined ? 0 : early.base)
    const parts = ahead * scale - tatEarly
    // Beyond that, products are rounded.
    const isExact = Math.max(ahead * scale, size) <= MOST_SCALE
    const units = isExact ? Math.ceil(parts / ticksPerUnit) : unitsIn(ahead, tatEarly, ticksPerUnit, scale)
    const remaining = Math.max(limit - units, 0)
    const used = ahead === 0 ? 0 : limit - remaining - 1
    const replenish = isExact ? Math.ceil((parts - used * ticksPerUnit) / scale) : afterUsed(used, ahead, tatEarly)
    const wait = wholeTick(base - now + (allowed ? turn : over), due - (allowed ? burst : tolerance), scale)
    return decisionOf(allowed, policy, limit, remaining, cost, ahead, replenish, wait)
  }
}
