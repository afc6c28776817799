import type { Decision, Degraded } from './decision.ts'
import { type BucketStep, type BucketTaken, fitsAt } from './kernels/bucket.ts'
import { exactIn, exactly, spanOf, unitsIn, WHOLE } from './kernels/fraction.ts'
import type { Step, Taken } from './kernels/kernel.ts'
import { momentOf, type RefillSchedule, tickOf } from './kernels/refill-schedule.ts'
import type { SlidingLogTaken } from './kernels/sliding-log.ts'
import type { SlidingWindowTaken } from './kernels/sliding-window.ts'
import type { WarmUpStep, WarmUpTaken } from './kernels/warm-up.ts'
import type { BucketQuota, Quota, SlidingLogQuota, SlidingWindowQuota } from './quota-types.ts'
import { LONGEST, type Micros } from './time.ts'
import { maxUnits } from './verbs.ts'

/** A state under a quota: whole units, and moments no earlier than now. */
interface QuotaStatus {
  readonly remaining: number
  /** When the requested units fit. */
  readonly fitsAt: Micros
  readonly fullAt: Micros
  /** When more is left than `remaining`. */
  readonly moreAt: Micros
  /** When an allowed request may run. */
  readonly turnAt: Micros
}

const NONE: readonly string[] = Object.freeze([])

/** Turns a store's result into a decision. Remaining units and waits are computed here only. */
export function decide(policy: string, quota: Quota, cost: number, step: Step, taken: Taken): Decision {
  const { allowed, now } = taken
  const reading = statusOf(quota, cost, step, taken)
  const retryAt = allowed ? now : cost > maxUnits(quota) ? Infinity : reading.fitsAt
  return {
    allowed,
    policy,
    limit: quota.limit,
    remaining: reading.remaining,
    cost,
    retryAfterMs: (retryAt - now) / 1000,
    resetAfterMs: (reading.fullAt - now) / 1000,
    replenishAfterMs: (reading.moreAt - now) / 1000,
    delayMs: allowed ? (reading.turnAt - now) / 1000 : 0,
    violated: allowed ? NONE : [policy],
  }
}

/**
 * The same as `decide` for one unit of a bucket that refills continuously, from one number: `before`, how many ticks ahead of
 * now the bucket was full before the take.
 */
export function decideSingleUnit(policy: string, quota: BucketQuota, step: BucketStep, before: number): Decision {
  const { limit, ticksPerUnit, scale } = quota
  const over = before + ticksIn(step.check, 'check', step) - ticksIn(step.tolerance, 'tolerance', step)
  const allowed = over <= 0
  const ahead = allowed ? before + ticksPerUnit : before
  const room = limit * ticksPerUnit - ahead
  const remaining = room < 0 ? 0 : Math.floor(room / ticksPerUnit)
  return {
    allowed,
    policy,
    limit,
    remaining,
    cost: 1,
    retryAfterMs: allowed ? 0 : Math.ceil(over / scale) / 1000,
    resetAfterMs: Math.ceil(ahead / scale) / 1000,
    replenishAfterMs: ahead === 0 ? 0 : Math.ceil(((remaining + 1) * ticksPerUnit - room) / scale) / 1000,
    delayMs: 0,
    violated: allowed ? NONE : [policy],
  }
}

/** A number of a step in ticks, which are parts of a microsecond if the step has a fraction. */
const ticksIn = (micros: Micros, name: 'check' | 'tolerance', { fraction }: BucketStep): number =>
  fraction === null ? micros : micros * fraction.scale - fraction[name]

/** The store's result for a unit that `decideSingleUnit` decided, at `now`. */
export function takenSingleUnit(
  allowed: boolean,
  { ticksPerUnit, scale }: BucketQuota,
  now: Micros,
  before: number,
): BucketTaken {
  const base = spanOf(before, 1, scale)
  const next = allowed ? spanOf(before + ticksPerUnit, 1, scale) : base
  const taken = { allowed, now, base: now + base.tick, tat: now + next.tick, gross: now + next.tick }
  if (scale === 1) return taken
  return { ...taken, early: { scale, base: base.early, tat: next.early, gross: next.early } }
}

function statusOf(quota: Quota, cost: number, step: Step, taken: Taken): QuotaStatus {
  switch (quota.kernel) {
    case 'bucket':
      return bucketStatus(quota, step as BucketStep, taken as BucketTaken)
    case 'sliding-window':
      return windowStatus(quota, cost, taken as SlidingWindowTaken)
    case 'sliding-log':
      return logStatus(quota, taken as SlidingLogTaken)
    case 'warm-up':
      return warmUpStatus(step as WarmUpStep, taken as WarmUpTaken)
  }
}

function bucketStatus(quota: BucketQuota, step: BucketStep, taken: BucketTaken): QuotaStatus {
  const { limit, ticksPerUnit, scale, schedule } = quota
  const { now, tat } = taken
  const { check, burst } = step.fraction ?? WHOLE
  const base = exactIn(taken, 'base')
  const { early } = exactIn(taken, 'tat')
  const ahead = tat - tickOf(now, schedule)
  const remaining = Math.max(limit - unitsIn({ tick: ahead, early }, ticksPerUnit, scale), 0)
  const used = spanOf(limit - remaining - 1, ticksPerUnit, scale)
  const turn = exactly(base.tick + step.check - step.burst, base.early + check - burst, scale).tick
  return {
    remaining,
    fitsAt: momentAfter(now, fitsAt(base, step), schedule),
    fullAt: ahead === 0 ? now : momentAfter(now, tat, schedule),
    moreAt: ahead === 0 ? now : momentAfter(now, exactly(tat - used.tick, early - used.early, scale).tick, schedule),
    // A charge has no turn. A request on an overdraft has one: it waits until earlier debts are refilled.
    turnAt: step.tolerance === LONGEST ? now : momentAfter(now, turn, schedule),
  }
}

function momentAfter(now: Micros, tick: number, schedule: RefillSchedule | null): Micros {
  const moment = momentOf(tick, schedule)
  return moment > now ? moment : now
}

function windowStatus(quota: SlidingWindowQuota, cost: number, taken: SlidingWindowTaken): QuotaStatus {
  const { now, start, current, previous } = taken
  const ticks = quota.window / quota.tick
  const rest = ticks - Math.floor((now - start) / quota.tick)
  const remaining = Math.max(quota.limit - current - Math.floor((previous * rest) / ticks), 0)
  const used = current > 0 && !quota.fixed ? 2 : current + previous > 0 ? 1 : 0
  const moment = (units: number): Micros => Math.max(windowFitsAt(quota, taken, units), now)
  return {
    remaining,
    fitsAt: moment(cost),
    fullAt: used === 0 ? now : start + used * quota.window,
    moreAt: remaining === quota.limit ? now : moment(remaining + 1),
    turnAt: now,
  }
}

/** When `units` fit, by the previous window's fading or the current one's; `units` are no more than the limit. */
function windowFitsAt(quota: SlidingWindowQuota, state: SlidingWindowTaken, units: number): Micros {
  const { limit, window, tick, fixed } = quota
  const ticks = window / tick
  const faded = (count: number, room: number): Micros =>
    count === 0 ? 0 : Math.max(ticks - Math.floor(((room + 1) * ticks - 1) / count), 0) * tick
  const room = limit - state.current - units
  if (room >= 0) return state.start + faded(state.previous, room)
  return state.start + window + (fixed ? 0 : faded(state.current, limit - units))
}

function logStatus({ limit }: SlidingLogQuota, { now, used, fitsAt, freesAt, emptyAt }: SlidingLogTaken): QuotaStatus {
  return {
    remaining: Math.max(limit - used, 0),
    fitsAt,
    fullAt: emptyAt,
    moreAt: used === 0 ? now : freesAt,
    turnAt: now,
  }
}

/** A key allows one unit when its turn has come, however cold it is. */
function warmUpStatus({ tolerance }: WarmUpStep, { now, aheadBefore, ahead }: WarmUpTaken): QuotaStatus {
  return {
    remaining: ahead === 0 ? 1 : 0,
    fitsAt: now + aheadBefore,
    fullAt: now + ahead,
    moreAt: now + ahead,
    turnAt: tolerance === LONGEST ? now : now + aheadBefore,
  }
}

/** Merges the decisions of several policies: allowed if all allow, else the denial with the longest wait. */
export function merge(decisions: readonly Decision[]): Decision {
  const denials = decisions.filter((decision) => !decision.allowed)
  const degraded = mostSevere(decisions)
  const sure = degraded ? decisions.filter(isCounted) : decisions
  const governing =
    denials.length > 0 ? denials.reduce(longerWait) : (sure.length > 0 ? sure : decisions).reduce(moreRestrictive)
  // Written out: spreading a decision is slower than building several.
  const { allowed, policy, limit, remaining, cost, retryAfterMs, resetAfterMs, replenishAfterMs } = governing
  const merged = {
    allowed,
    policy,
    limit,
    remaining,
    cost,
    retryAfterMs,
    resetAfterMs,
    replenishAfterMs,
    delayMs: allowed ? decisions.reduce((longest, { delayMs }) => Math.max(longest, delayMs), 0) : 0,
    violated: allowed ? NONE : denials.map((denial) => denial.policy),
    policies: decisions,
  }
  return degraded ? { ...merged, degraded } : merged
}

/** Reports whether a decision has numbers of its policy's quota, counted by the store or this process. */
export const isCounted = ({ degraded }: Decision): boolean => degraded === undefined || degraded.action === 'local'

function mostSevere(decisions: readonly Decision[]): Decision['degraded'] {
  let found: Decision['degraded']
  for (const { degraded } of decisions) if (degraded) found = moreSevere(found, degraded)
  return found
}

const longerWait = (a: Decision, b: Decision): Decision => (b.retryAfterMs > a.retryAfterMs ? b : a)
const moreRestrictive = (a: Decision, b: Decision): Decision => (b.remaining < a.remaining ? b : a)

const SEVERITY: readonly Degraded['action'][] = ['local', 'allow', 'fallback', 'deny']
const moreSevere = (a: Decision['degraded'], b: NonNullable<Decision['degraded']>): Decision['degraded'] =>
  a === undefined || SEVERITY.indexOf(b.action) > SEVERITY.indexOf(a.action) ? b : a
