import { LONGEST, type Micros } from '../../common/time.ts'
import type { BucketTaken } from '../../kernels/bucket-taken.ts'
import type { BucketStep } from '../../kernels/bucket-types.ts'
import { type Fraction, MOST_SCALE, spanOf, unitsIn, wholeTick } from '../../kernels/fraction.ts'
import type { Decide } from '../decision.ts'
import { decisionOf } from '../decision-of.ts'
import type { BucketQuota } from '../quota-types.ts'

/** Turns the results of a step into decisions, of a bucket that refills continuously. */
export function decideBucket(policy: string, quota: BucketQuota, cost: number, step: BucketStep): Decide<BucketTaken> {
  const { limit, ticksPerUnit, overdraft } = quota
  if (limit === 0) return decideNoUnits(policy, cost)
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
export const turnOf = ({ tolerance, check, burst }: BucketStep): number =>
  tolerance === LONGEST ? -Infinity : check - burst

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
