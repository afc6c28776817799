import { isBlockList } from './block-list.ts'
import { allow, type Decision, deny } from './decision.ts'
import type { BucketStep, BucketTaken } from './kernels/bucket.ts'
import { type Fraction, MOST_SCALE, spanOf, unitsIn, wholeTick } from './kernels/fraction.ts'
import type { Step, Taken } from './kernels/kernel.ts'
import type { PenaltyTaken } from './kernels/penalty.ts'
import type { RefillSchedule } from './kernels/refill-schedule.ts'
import type { SlidingLogTaken } from './kernels/sliding-log.ts'
import type { Calendar, SlidingWindowTaken } from './kernels/sliding-window.ts'
import type { WarmUpStep, WarmUpTaken } from './kernels/warm-up.ts'
import type {
  BucketQuota,
  PenaltyQuota,
  Quota,
  SlidingLogQuota,
  SlidingWindowQuota,
  WarmUpQuota,
} from './quota-types.ts'
import { LONGEST, type Micros } from './time.ts'

/** Turns the results of one step into decisions. A result is only read: a prepared take may reuse it. */
export type Decide<T extends Taken = Taken> = (taken: T) => Decision

/** Turns a store's result into a decision. */
export const decide = (policy: string, quota: Quota, cost: number, step: Step, taken: Taken): Decision =>
  decider(policy, quota, cost, step)(taken)

/**
 * Returns what turns the results of a step into decisions. Remaining units and waits are computed here only. These are hot
 * paths: engines inline small functions over numbers, and then allocate neither their arguments nor their results.
 */
export function decider(policy: string, quota: Quota, cost: number, step: Step): Decide {
  switch (quota.kernel) {
    case 'bucket':
      return decideBucket(policy, quota, cost, step as BucketStep) as Decide
    case 'sliding-window':
      return (quota.calendar === null ? decideWindow : decideCalendar)(policy, quota, cost) as Decide
    case 'sliding-log':
      return decideLog(policy, quota, cost) as Decide
    case 'warm-up':
      return decideWarmUp(policy, quota, cost, step as WarmUpStep) as Decide
    case 'penalty':
      return decidePenalty(policy, quota, cost) as Decide
  }
}

function decideBucket(policy: string, quota: BucketQuota, cost: number, step: BucketStep): Decide<BucketTaken> {
  const { limit, ticksPerUnit, overdraft, schedule } = quota
  if (schedule !== null) return decideScheduled(policy, quota, cost, step, schedule)
  if (step.fraction !== null) return decideFraction(policy, quota, cost, step, step.fraction)
  const over = cost > limit + overdraft ? Infinity : step.check - step.tolerance
  return bucketDecider(policy, cost, limit, ticksPerUnit, limit * ticksPerUnit, turnOf(step), over)
}

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
    const before = taken.base - taken.now
    return taken.allowed
      ? allow(policy, limit, remaining, cost, ahead, replenish, before + turn)
      : deny(policy, limit, remaining, cost, ahead, replenish, before + over)
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
    return (allowed ? allow : deny)(policy, limit, remaining, cost, span(ahead, left), replenish, span(wait, left))
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
    return allowed
      ? allow(policy, limit, remaining, cost, reset, reset, wait > 0 ? left : 0)
      : deny(policy, limit, remaining, cost, reset, reset, left)
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
    const before = base - now
    return allowed
      ? allow(policy, limit, remaining, cost, ahead, replenish, wholeTick(before + turn, due - burst, scale))
      : deny(policy, limit, remaining, cost, ahead, replenish, wholeTick(before + over, due - tolerance, scale))
  }
}

function decideWindow(policy: string, quota: SlidingWindowQuota, cost: number): Decide<SlidingWindowTaken> {
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
  const decideAny: Decide<SlidingWindowTaken> = (taken) => {
    const { allowed, now, start, current, previous } = taken
    const remaining = Math.max(limit - current - (previous === 0 ? 0 : unitsOf(taken)), 0)
    const windows = current > 0 ? most : previous > 0 ? 1 : 0
    const reset = windows === 0 ? 0 : start + windows * window - now
    const replenish = remaining === limit ? 0 : fitsAfter(taken, remaining + 1)
    if (allowed) return allow(policy, limit, remaining, cost, reset, replenish, 0)
    const retry = cost > limit ? Infinity : cost === remaining + 1 ? replenish : fitsAfter(taken, cost)
    return deny(policy, limit, remaining, cost, reset, replenish, retry)
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

const decideLog =
  (policy: string, { limit }: SlidingLogQuota, cost: number): Decide<SlidingLogTaken> =>
  ({ allowed, now, used, fitsAt, freesAt, emptyAt }) => {
    const remaining = used > limit ? 0 : limit - used
    const replenish = used === 0 ? 0 : freesAt - now
    if (allowed) return allow(policy, limit, remaining, cost, emptyAt - now, replenish, 0)
    const retry = cost > limit ? Infinity : fitsAt - now
    return deny(policy, limit, remaining, cost, emptyAt - now, replenish, retry)
  }

/** A key allows one unit when its turn has come, however cold it is. */
const decideWarmUp =
  (policy: string, { limit, burst }: WarmUpQuota, cost: number, step: WarmUpStep): Decide<WarmUpTaken> =>
  ({ allowed, aheadBefore, ahead }) => {
    const left = ahead === 0 ? 1 : 0
    if (allowed) return allow(policy, limit, left, cost, ahead, ahead, step.tolerance === LONGEST ? 0 : aheadBefore)
    return deny(policy, limit, left, cost, ahead, ahead, cost > burst ? Infinity : aheadBefore)
  }

/** The units of a key refill at midnight of the calendar's zone, whatever the time of the request that consumed them. */
const decideCalendar =
  (policy: string, { limit, calendar }: SlidingWindowQuota, cost: number): Decide<SlidingWindowTaken> =>
  ({ allowed, now, start, current }) =>
    atOnce(policy, limit, cost, allowed, limit - current, (calendar as Calendar).endOf(start, now) - now)

function decidePenalty(policy: string, quota: PenaltyQuota, cost: number): Decide<PenaltyTaken> {
  const { limit, window } = quota
  const most = isBlockList(quota) ? 0 : limit
  return ({ allowed, now, first, count, until }) => {
    const end = (until > 0 ? until : first + window) - now
    return atOnce(policy, limit, cost, allowed, until > 0 ? 0 : limit - count, end, most)
  }
}

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
