import { formatValue, QuotaError } from '../common/errors.ts'
import { LONGEST, type Micros } from '../common/time.ts'
import type { BucketStep } from '../kernels/bucket.ts'
import type { Step } from '../kernels/kernel.ts'
import type { SlidingWindowTaken } from '../kernels/sliding-window.ts'
import type { BucketQuota, Quota, WarmUpQuota } from '../quotas/quota-types.ts'
import { bucketStep } from './bucket-step.ts'
import { penaltyStep } from './penalty-step.ts'
import type { StepOptions, Verb } from './step-options.ts'
import { warmUpStep } from './warm-up-step.ts'

/** The most units times ticks that a window counts: sums of two of them and of the largest limit are at most 2^53. */
const MOST_COUNTED = 3 * 2 ** 50

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
      const most = Math.floor(MOST_COUNTED / ticks)
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
