import type { Decision, Degraded } from './decision.ts'
import type { BucketStep, BucketTaken } from './kernels/bucket.ts'
import { spanOf, unitsIn, WHOLE, wholeTick } from './kernels/fraction.ts'
import type { Step, Taken } from './kernels/kernel.ts'
import { momentOf, tickOf } from './kernels/refill-schedule.ts'
import type { SlidingLogTaken } from './kernels/sliding-log.ts'
import type { SlidingWindowTaken } from './kernels/sliding-window.ts'
import type { WarmUpStep, WarmUpTaken } from './kernels/warm-up.ts'
import type { BucketQuota, Quota, SlidingLogQuota, SlidingWindowQuota, WarmUpQuota } from './quota-types.ts'
import { LONGEST, type Micros } from './time.ts'

/** Turns the results of one step into decisions. A result is only read: a prepared take may reuse it. */
export type Decide<T extends Taken = Taken> = (taken: T) => Decision

const NONE: readonly string[] = Object.freeze([])

/** Turns a store's result into a decision. */
export const decide = (policy: string, quota: Quota, cost: number, step: Step, taken: Taken): Decision =>
  decider(policy, quota, cost, step)(taken)

/**
 * Returns what turns the results of a step into decisions. Remaining units and waits are computed here only. These are hot
 * paths: engines inline small functions over numbers, and then allocate neither their arguments nor their results.
 */
export function decider(policy: string, quota: Quota, cost: number, step: Step): Decide {
  switch (quota.kernel) {
    case 'bucket': {
      const isPlain = quota.scale === 1 && quota.schedule === null
      const decide = isPlain ? decideBucket : decideExactBucket
      return decide(policy, quota, cost, step as BucketStep) as Decide
    }
    case 'sliding-window':
      return decideWindow(policy, quota, cost) as Decide
    case 'sliding-log':
      return decideLog(policy, quota, cost) as Decide
    case 'warm-up':
      return decideWarmUp(policy, quota, cost, step as WarmUpStep) as Decide
  }
}

/** An allowed request; times are in microseconds. */
const allow = (
  policy: string,
  limit: number,
  remaining: number,
  cost: number,
  resetAfter: Micros,
  replenishAfter: Micros,
  delay: Micros,
): Decision => ({
  allowed: true,
  policy,
  limit,
  remaining,
  cost,
  retryAfterMs: 0,
  resetAfterMs: resetAfter / 1000,
  replenishAfterMs: replenishAfter / 1000,
  delayMs: delay > 0 ? delay / 1000 : 0,
  violated: NONE,
})

/** A denied request; times are in microseconds. */
const deny = (
  policy: string,
  limit: number,
  remaining: number,
  cost: number,
  resetAfter: Micros,
  replenishAfter: Micros,
  retryAfter: Micros,
): Decision => ({
  allowed: false,
  policy,
  limit,
  remaining,
  cost,
  retryAfterMs: retryAfter / 1000,
  resetAfterMs: resetAfter / 1000,
  replenishAfterMs: replenishAfter / 1000,
  delayMs: 0,
  violated: [policy],
})

/** A bucket that refills continuously, each unit in whole microseconds. */
function decideBucket(policy: string, quota: BucketQuota, cost: number, step: BucketStep): Decide<BucketTaken> {
  const { limit, ticksPerUnit } = quota
  const size = limit * ticksPerUnit
  const over = cost > limit + quota.overdraft ? Infinity : step.check - step.tolerance
  const turn = turnOf(step)
  return (taken) => {
    const ahead = taken.tat - taken.now
    const room = size - ahead
    const remaining = room < 0 ? 0 : Math.floor(room / ticksPerUnit)
    const replenish = ahead === 0 ? 0 : (remaining + 1) * ticksPerUnit - room
    const before = taken.base - taken.now
    return taken.allowed
      ? allow(policy, limit, remaining, cost, ahead, replenish, before + turn)
      : deny(policy, limit, remaining, cost, ahead, replenish, before + over)
  }
}

/** A charge has no turn. A request on an overdraft has one: it waits until earlier debts are refilled. */
const turnOf = ({ tolerance, check, burst }: BucketStep): number => (tolerance === LONGEST ? -Infinity : check - burst)

/** Any bucket. Its numbers are `tick − early / scale`, apart instead of in objects. */
function decideExactBucket(policy: string, quota: BucketQuota, cost: number, step: BucketStep): Decide<BucketTaken> {
  const { limit, ticksPerUnit, scale, schedule } = quota
  const { check, tolerance, burst } = step.fraction ?? WHOLE
  const over = step.check - step.tolerance
  const turn = turnOf(step)
  const fits = cost <= limit + quota.overdraft
  const after = (now: Micros, tick: number, early: number): Micros =>
    Math.max(momentOf(wholeTick(tick, early, scale), schedule) - now, 0)
  return ({ allowed, now, base, tat, early }) => {
    const ahead = tat - tickOf(now, schedule)
    const tatEarly = early === undefined ? 0 : early.tat
    const due = check + (early === undefined ? 0 : early.base)
    const remaining = Math.max(limit - unitsIn(ahead, tatEarly, ticksPerUnit, scale), 0)
    const used = spanOf(limit - remaining - 1, ticksPerUnit, scale)
    const reset = ahead === 0 ? 0 : after(now, tat, 0)
    const replenish = ahead === 0 ? 0 : after(now, tat - used.tick, tatEarly - used.early)
    if (allowed) {
      const delay = turn === -Infinity ? 0 : after(now, base + turn, due - burst)
      return allow(policy, limit, remaining, cost, reset, replenish, delay)
    }
    const retry = fits ? after(now, base + over, due - tolerance) : Infinity
    return deny(policy, limit, remaining, cost, reset, replenish, retry)
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
  return (taken) => {
    const { allowed, now, start, current, previous } = taken
    const remaining = Math.max(limit - current - (previous === 0 ? 0 : unitsOf(taken)), 0)
    const windows = current > 0 ? most : previous > 0 ? 1 : 0
    const reset = windows === 0 ? 0 : start + windows * window - now
    const replenish = remaining === limit ? 0 : fitsAfter(taken, remaining + 1)
    if (allowed) return allow(policy, limit, remaining, cost, reset, replenish, 0)
    const retry = cost > limit ? Infinity : fitsAfter(taken, cost)
    return deny(policy, limit, remaining, cost, reset, replenish, retry)
  }
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
    const remaining = ahead === 0 ? 1 : 0
    if (allowed)
      return allow(policy, limit, remaining, cost, ahead, ahead, step.tolerance === LONGEST ? 0 : aheadBefore)
    return deny(policy, limit, remaining, cost, ahead, ahead, cost > burst ? Infinity : aheadBefore)
  }

/** Merges the decisions of several policies: allowed if all allow, else the denial with the longest wait. */
export function merge(decisions: readonly Decision[]): Decision {
  // Fields written out: a spread takes longer than all decisions.
  const { allowed, policy, limit, remaining, cost, retryAfterMs, resetAfterMs, replenishAfterMs } =
    governingOf(decisions)
  let delayMs = 0
  let degraded: Decision['degraded']
  for (const each of decisions) {
    if (allowed && each.delayMs > delayMs) delayMs = each.delayMs
    if (each.degraded) degraded = moreSevere(degraded, each.degraded)
  }
  const merged = {
    allowed,
    policy,
    limit,
    remaining,
    cost,
    retryAfterMs,
    resetAfterMs,
    replenishAfterMs,
    delayMs,
    violated: allowed ? NONE : decisions.filter((each) => !each.allowed).map((each) => each.policy),
    policies: decisions,
  }
  return degraded ? { ...merged, degraded } : merged
}

/** Of denials, the first with the longest wait; else the first with the fewest units left, counted ones before others. */
function governingOf(decisions: readonly Decision[]): Decision {
  let governing = decisions[0] as Decision
  for (const each of decisions) if (governs(each, governing)) governing = each
  return governing
}

function governs(each: Decision, other: Decision): boolean {
  if (each.allowed !== other.allowed) return other.allowed
  if (!each.allowed) return each.retryAfterMs > other.retryAfterMs
  if (isCounted(each) !== isCounted(other)) return isCounted(each)
  return each.remaining < other.remaining
}

/** Reports whether a decision has numbers of its policy's quota, counted by the store or this process. */
export const isCounted = ({ degraded }: Decision): boolean => degraded === undefined || degraded.action === 'local'

const SEVERITY: readonly Degraded['action'][] = ['local', 'allow', 'fallback', 'deny']
const moreSevere = (a: Decision['degraded'], b: NonNullable<Decision['degraded']>): Decision['degraded'] =>
  a === undefined || SEVERITY.indexOf(b.action) > SEVERITY.indexOf(a.action) ? b : a
