import { formatValue, QuotaError } from './errors.ts'
import type { BucketStep, BucketTaken } from './kernels/bucket.ts'
import {
  type Exact,
  earliest,
  exactIn,
  exactly,
  type Fraction,
  isSame,
  latest,
  NOTHING,
  spanOf,
} from './kernels/fraction.ts'
import type { Step } from './kernels/kernel.ts'
import { tickOf } from './kernels/refill-schedule.ts'
import type { SlidingWindowTaken } from './kernels/sliding-window.ts'
import { penaltyStep } from './penalty-step.ts'
import type { BucketQuota, Quota, WarmUpQuota } from './quota-types.ts'
import type { StepOptions, Verb } from './step-options.ts'
import { LONGEST, type Micros } from './time.ts'
import { warmUpStep } from './warm-up-step.ts'

export type { StepOptions, Verb } from './step-options.ts'

/** Reduces a verb to a kernel step. `cost` is in units. */
export function stepFor(quota: BucketQuota, verb: Verb, cost: number, stepOptions?: StepOptions): BucketStep
/** Reduces a verb to a kernel step of whatever kernel the quota is for. `cost` is in units. */
export function stepFor(quota: Quota, verb: Verb, cost: number, stepOptions?: StepOptions): Step
export function stepFor(quota: Quota, verb: Verb, cost: number, stepOptions: StepOptions = {}): Step {
  const taking = verb === 'consume' || verb === 'peek'
  const peek = verb === 'peek'
  const increment = verb === 'refund' ? -cost : cost
  switch (quota.kernel) {
    case 'bucket':
      return bucketStep(quota, verb, cost, stepOptions)
    case 'sliding-window': {
      const { limit, tick } = quota
      const ticks = quota.window / tick
      const most = Math.floor(Number.MAX_SAFE_INTEGER / ticks)
      return {
        kernel: 'sliding-window',
        increment,
        check: taking ? cost : -2 * most,
        limit,
        ticks,
        tick,
        fixed: quota.fixed,
        calendar: quota.calendar,
        most,
        since: (stepOptions.original as SlidingWindowTaken | undefined)?.start ?? 0,
        peek,
      }
    }
    case 'sliding-log': {
      const { limit, window } = quota
      const since = stepOptions.original?.now ?? 0
      return { kernel: 'sliding-log', increment, check: taking ? cost : -LONGEST, limit, window, since, peek }
    }
    case 'warm-up':
      return warmUpStep(quota, verb, cost, stepOptions)
    case 'penalty':
      return penaltyStep(quota, verb, cost, stepOptions)
  }
}

/** The overdraft that a request may use. */
const overdraftFor = (quota: BucketQuota, { prepaid = false }: StepOptions): number => (prepaid ? 0 : quota.overdraft)

/** In a queue, the tolerance includes the wait. A cost that never fits does not wait. */
const maxWaitFor = (quota: BucketQuota, cost: number, { maxWaitMicros = 0 }: StepOptions): Micros =>
  quota.immediateUnits < quota.limit || cost > maxUnits(quota) ? 0 : maxWaitMicros

function bucketStep(quota: BucketQuota, verb: Verb, cost: number, stepOptions: StepOptions): BucketStep {
  const { ticksPerUnit, scale, schedule, limit, immediateUnits } = quota
  const taking = verb === 'consume' || verb === 'peek'
  const units = spanOf(cost, ticksPerUnit, scale)
  const increment = verb === 'refund' ? { tick: -units.tick, early: 0 - units.early } : units
  const check = taking ? spanOf(Math.max(cost - overdraftFor(quota, stepOptions), 0), ticksPerUnit, scale) : NOTHING
  const tolerance = taking ? toleranceOf(quota, stepOptions.maxWaitMicros) : ALL
  const burst = spanOf(immediateUnits, ticksPerUnit, scale)
  const taken =
    stepOptions.original === undefined ? NO_TAKE : refundOf(quota, burst, stepOptions.original as BucketTaken)
  return {
    kernel: 'bucket',
    increment: increment.tick,
    check: check.tick,
    tolerance: tolerance.tick,
    ceiling: spanOf(limit + quota.overdraft, ticksPerUnit, scale).tick,
    burst: burst.tick,
    maxWaitMicros: maxWaitFor(quota, cost, stepOptions),
    until: taken.until.tick,
    ends: taken.ends,
    whole: verb === 'refund' && isSame(taken.ticks, units),
    schedule,
    start: quota.start,
    fraction: scale === 1 ? null : fractionOf(scale, increment, check, tolerance, burst, taken.until),
    peek: verb === 'peek',
  }
}

const fractionOf = (
  scale: number,
  increment: Exact,
  check: Exact,
  tolerance: Exact,
  burst: Exact,
  until: Exact,
): Fraction => ({
  scale,
  increment: increment.early,
  check: check.early,
  tolerance: tolerance.early,
  burst: burst.early,
  until: until.early,
})

/** The take that is refunded: its `gross`, its earliest end, and its ticks. */
interface Refunded {
  readonly until: Exact
  readonly ends: number
  readonly ticks: Exact
}

const ALL: Exact = { tick: LONGEST, early: 0 }
const NO_TAKE: Refunded = { until: { tick: Number.MAX_SAFE_INTEGER, early: 0 }, ends: 0, ticks: NOTHING }

/** The take that is refunded, for the step. An unknown part of a microsecond is rounded down. */
function refundOf({ scale, schedule }: BucketQuota, burst: Exact, of: BucketTaken): Refunded {
  const [base, tat, gross] = [exactOf(of, 'base', scale), exactOf(of, 'tat', scale), exactOf(of, 'gross', scale)]
  const ticks = exactly(tat.tick - base.tick, tat.early - base.early, scale)
  const now = { tick: tickOf(of.now, schedule), early: 0 }
  const turn = latest(now, exactly(tat.tick - burst.tick, tat.early - burst.early, scale))
  const share = earliest(ticks, burst)
  const ends = exactly(turn.tick + share.tick, turn.early + share.early, scale)
  return { until: gross, ends: ends.early === 0 ? ends.tick : ends.tick - 1, ticks }
}

/** A number of an answer. One of another scale is rounded down to a whole microsecond. */
function exactOf(of: BucketTaken, name: 'base' | 'tat' | 'gross', scale: number): Exact {
  const exact = exactIn(of, name)
  return exact.early === 0 || of.early?.scale === scale ? exact : { tick: exact.tick - 1, early: 0 }
}

/** How far ahead of now a take may end: the size of the bucket. In a queue, the wait shortens it. */
function toleranceOf(
  { limit, immediateUnits, ticksPerUnit, scale }: BucketQuota,
  maxWaitMicros: Micros | undefined,
): Exact {
  const whole = spanOf(limit, ticksPerUnit, scale)
  if (maxWaitMicros === undefined) return whole
  const { tick, early } = spanOf(immediateUnits, ticksPerUnit, scale)
  return earliest({ tick: tick + maxWaitMicros, early }, whole)
}

/** The most units that one request can consume. */
export function maxUnits(quota: Quota): number {
  if (quota.kernel === 'warm-up') return quota.burst
  return quota.kernel === 'bucket' ? quota.limit + quota.overdraft : quota.limit
}

/** Checks a cost: a whole number of units, 1 or more, never text. */
export function checkCost(cost: unknown, quota: Quota, verb: Verb): number {
  const units = checkUnits(cost)
  if ((verb === 'refund' || verb === 'charge') && units > maxCharge(quota)) {
    throw new QuotaError(
      'ERR_SPILLWAY_COST',
      `cost ${units} is too large to be counted: use at most ${maxCharge(quota)}, 95 years of this quota.`,
    )
  }
  return units
}

/** Checks a number of units that is the same for all policies. */
export function checkUnits(units: unknown): number {
  if (typeof units === 'number' && Number.isSafeInteger(units) && units >= 1) return units
  throw new QuotaError(
    'ERR_SPILLWAY_COST',
    `cost must be a whole number of units, 1 or more; got ${formatValue(units)}.`,
  )
}

/** The most units that can be refunded or charged at once. */
export const maxCharge = (quota: Quota): number =>
  quota.kernel === 'bucket' || quota.kernel === 'warm-up' ? Math.floor(LONGEST / unitMicros(quota)) : 2 ** 50

const unitMicros = (quota: BucketQuota | WarmUpQuota): Micros =>
  (quota.kernel === 'bucket' ? quota.schedule?.tick : undefined) ?? quota.ticksPerUnit / quota.scale

/** Checks a key: text that identifies a client. An empty key would count all clients as one. */
export function checkKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  throw new QuotaError(
    'ERR_SPILLWAY_KEY',
    `key must be a non-empty string that says whom to count, such as a user id or an address; got ${formatValue(key)}.`,
  )
}
