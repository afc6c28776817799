import { invalid, QuotaError } from '../common/errors.ts'
import { LONGEST, type Micros } from '../common/time.ts'
import type { BucketQuota, Quota } from './quota-types.ts'
import type { Verb } from './step-options.ts'

/** Whether a verb needs its units to be available: a refund and a charge do not. */
export const needsUnits = (verb: Verb): boolean => verb === 'consume' || verb === 'peek'

/** The most units that one request can consume. */
export function maxUnits(quota: Quota): number {
  if (quota.kernel === 'warm-up') return quota.burst
  return quota.kernel === 'bucket' ? quota.limit + quota.overdraft : quota.limit
}

/** Checks a cost: a whole number of units, 1 or more, never text. */
export function checkCost(cost: unknown, quota: Quota, verb: Verb): number {
  const units = checkUnits(cost)
  if (!needsUnits(verb) && units > maxCharge(quota)) {
    throw new QuotaError(
      'ERR_SPILLWAY_COST',
      `cost ${units} is too large to be counted: use at most ${maxCharge(quota)}, 95 years of this quota.`,
    )
  }
  return units
}

/** Checks a number of units that is the same for all policies; `what` names it in the error. */
export function checkUnits(units: unknown, what = 'cost'): number {
  if (typeof units === 'number' && Number.isSafeInteger(units) && units >= 1) return units
  throw invalid('ERR_SPILLWAY_COST', `${what} must be a whole number of units, 1 or more`, units)
}

/** The time in which one unit of a bucket, or of a key that warms up, refills. */
export const unitMicros = ({
  schedule,
  ticksPerUnit,
  scale,
}: Pick<BucketQuota, 'ticksPerUnit' | 'scale'> & Pick<Partial<BucketQuota>, 'schedule'>): Micros =>
  schedule?.tick ?? ticksPerUnit / scale

/** The most units that can be refunded or charged at once. */
export const maxCharge = (quota: Quota): number =>
  quota.kernel === 'bucket' || quota.kernel === 'warm-up' ? Math.floor(LONGEST / unitMicros(quota)) : 2 ** 50

/** Checks a key: text that identifies a client. An empty key would count all clients as one. */
export function checkKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  throw invalid(
    'ERR_SPILLWAY_KEY',
    'key must be a non-empty string that says whom to count, such as a user id or an address',
    key,
  )
}
