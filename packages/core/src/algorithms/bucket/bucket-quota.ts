import { invalid, QuotaError } from '../../common/errors.ts'
import { checkWhole } from '../../common/options.ts'
import { LONGEST, type Micros } from '../../common/time.ts'
import { commonDivisor, MOST_SCALE, spanOf } from '../../kernels/fraction.ts'
import type { RefillSchedule } from '../../kernels/refill-schedule.ts'
import type { Start } from '../../kernels/start.ts'
import type { BucketQuota } from '../quota-types.ts'
import { unitMicros } from '../verbs.ts'

/** A start that lacks `units` of a full bucket. */
export function startLacking(
  units: number,
  { ticksPerUnit: unit, scale }: Pick<BucketQuota, 'ticksPerUnit' | 'scale'>,
  keep: Micros,
): Start {
  const { tick, early } = spanOf(units, unit, scale)
  return Object.freeze({ lacking: tick, early, keep })
}

/** The fraction `per / limit`, the microseconds of one unit, in lowest terms: ticks per unit, and ticks per microsecond. */
export function ticksOf(what: string, limit: number, per: Micros): Pick<BucketQuota, 'ticksPerUnit' | 'scale'> {
  const divisor = commonDivisor(per, limit)
  if (limit <= MOST_SCALE) return { ticksPerUnit: per / divisor, scale: limit / divisor }
  const hint = `Use a limit of ${MOST_SCALE}.`
  throw invalid('ERR_SPILLWAY_QUOTA', `${what} limit is too large to be counted exactly`, limit, hint)
}

/** The checked numbers of a rate, with the units that are available at once. */
export interface RateNumbers {
  readonly limit: number
  readonly per: Micros
  readonly burst: number
}

/** Checks the numbers of a rate. `instead` ends the error about a limit that is not whole. */
export function rateNumbers(
  what: string,
  given: number,
  per: Micros,
  burst: number | undefined,
  instead?: string,
): RateNumbers {
  const limit = checkWhole(`${what} limit`, given, 0, instead)
  return { limit, per, burst: checkWhole(`${what} burst`, burst ?? Math.max(limit, 1), 1) }
}

/** A bucket that starts full, and refills unit by unit. */
export const refilling = (what: string, { limit, per, burst }: RateNumbers): BucketQuota =>
  limit === 0
    ? noUnits(per)
    : continuous(what, {
        limit: burst,
        immediateUnits: burst,
        overdraft: 0,
        start: null,
        ...ticksOf(what, limit, per),
      })

/** A bucket that refills unit by unit. */
export function continuous(what: string, quota: Omit<BucketQuota, 'kernel' | 'window' | 'schedule'>): BucketQuota {
  const { limit, ticksPerUnit: unit, scale } = quota
  return bucketQuota(what, { ...quota, window: spanOf(limit, unit, scale).tick, schedule: null })
}

/** A quota of 0 units: a bucket that no request fits. Its unit is the shortest, so that charges leave no debt. */
export const noUnits = (window: Micros): BucketQuota =>
  Object.freeze({
    kernel: 'bucket',
    limit: 0,
    immediateUnits: 0,
    window,
    ticksPerUnit: 1,
    scale: 1,
    overdraft: 0,
    schedule: null,
    start: null,
  })

/** The schedule of a bucket that refills whole amounts at intervals: at most a unit a microsecond, in which it counts. */
export function scheduled({
  interval,
  amount,
  offset,
}: Omit<RefillSchedule, 'tick'>): Pick<BucketQuota, 'ticksPerUnit' | 'scale' | 'schedule'> {
  const tick = Math.floor(interval / amount)
  return { ticksPerUnit: 1, scale: 1, schedule: Object.freeze({ interval, amount, tick, offset }) }
}

/** The frozen quota. Throws a QuotaError if the bucket takes longer to fill than {@link LONGEST}. */
export function bucketQuota(what: string, quota: Omit<BucketQuota, 'kernel'>): BucketQuota {
  const unit = unitMicros(quota)
  const { limit, immediateUnits, overdraft, schedule } = quota
  if ((limit + overdraft) * unit > LONGEST || quota.window > LONGEST) {
    const refilled = schedule === null ? Infinity : Math.floor(LONGEST / schedule.interval) * schedule.amount
    const most = Math.min(Math.floor(LONGEST / unit), refilled)
    const burst = immediateUnits < limit ? `a queue of ${most - 1}` : `a burst of ${most - overdraft}`
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `${what}: the bucket would take over 95 years to fill. Use ${most > overdraft ? burst : `an overdraft of ${most - limit}`} or less.`,
    )
  }
  return Object.freeze({ kernel: 'bucket', ...quota })
}
