import { formatValue, QuotaError } from '../common/errors.ts'
import { checkWhole } from '../common/options.ts'
import { type Duration, LONGEST, type Micros, micros } from '../common/time.ts'
import { commonDivisor, MOST_SCALE, spanOf } from '../kernels/fraction.ts'
import type { RefillSchedule } from '../kernels/refill-schedule.ts'
import type { Start } from '../kernels/start.ts'
import type { TokenBucketOptions } from './quota-options.ts'
import type { BucketQuota } from './quota-types.ts'

export function build(what: string, options: TokenBucketOptions): BucketQuota {
  const per = micros(options.per, `${what} per`)
  const limit = checkWhole(`${what} limit`, options.limit, 1, sameRate(options.limit, options.per, per))
  const burst = checkWhole(`${what} burst`, options.burst ?? limit, 1)
  const overdraft = checkWhole(`${what} overdraft`, options.overdraft ?? 0, 0)
  if (options.refill === undefined || options.refill === 'continuous') {
    const ticks = ticksOf(what, limit, per)
    const start = startOf(what, options, burst, ticks)
    return continuous(what, { limit: burst, immediateUnits: burst, overdraft, start, ...ticks })
  }
  const interval = micros(options.refill, `${what} refill`)
  const amount = Number((BigInt(limit) * BigInt(interval)) / BigInt(per))
  if (BigInt(amount) * BigInt(per) !== BigInt(limit) * BigInt(interval)) {
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `${what} refill must divide the rate into whole units: ${limit} per ${formatValue(options.per)} is no whole number every ${formatValue(options.refill)}. Use a limit of ${wholeLimit(limit, per, interval)}, change refill, or leave refill out to refill continuously.`,
    )
  }
  const window = Math.ceil(burst / amount) * interval
  return bucketQuota(what, {
    limit: burst,
    immediateUnits: burst,
    window,
    overdraft,
    start: startOf(what, options, burst, { ticksPerUnit: 1, scale: 1 }),
    ...scheduled(what, { interval, amount, offset: 0 }, per),
  })
}

/** The level of a new key; null if it starts full. */
function startOf(
  what: string,
  options: TokenBucketOptions,
  burst: number,
  ticks: Pick<BucketQuota, 'ticksPerUnit' | 'scale'>,
): Start | null {
  const { initial, keepFull } = options
  if (initial === undefined && keepFull === undefined) return null
  const units = checkWhole(`${what} initial`, initial, 0)
  const keep = micros(keepFull ?? '1d', `${what} keepFull`)
  if (units < burst) return startLacking(burst - units, ticks, keep)
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what} initial must be less than burst, which is what a new key starts with by default; got ${units} of ${burst}. Leave initial out.`,
  )
}

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
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what} limit must be at most ${MOST_SCALE}, so that it is counted exactly; got ${limit}. Use a limit of ${MOST_SCALE}.`,
  )
}

/** A bucket that refills unit by unit. */
export function continuous(what: string, quota: Omit<BucketQuota, 'kernel' | 'window' | 'schedule'>): BucketQuota {
  const { limit, ticksPerUnit: unit, scale } = quota
  return bucketQuota(what, { ...quota, window: spanOf(limit, unit, scale).tick, schedule: null })
}

/** The nearest limit that refills whole units in each interval. */
function wholeLimit(limit: number, per: Micros, interval: Micros): number {
  const step = per / commonDivisor(per, interval)
  return Math.min(Math.max(Math.round(limit / step), 1) * step, per)
}

/** The schedule of a bucket that refills whole amounts at intervals. */
export function scheduled(
  what: string,
  { interval, amount, offset }: Omit<RefillSchedule, 'tick'>,
  most: number,
): Pick<BucketQuota, 'ticksPerUnit' | 'scale' | 'schedule'> {
  const tick = Math.floor(interval / amount)
  if (tick >= 1) return { ticksPerUnit: 1, scale: 1, schedule: Object.freeze({ interval, amount, tick, offset }) }
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what}: ${amount} units every ${interval} µs is more than one a microsecond. Use a limit of ${most}, or a tokenBucket without refill.`,
  )
}

/** The frozen quota. Throws a QuotaError if the bucket takes longer to fill than {@link LONGEST}. */
export function bucketQuota(what: string, quota: Omit<BucketQuota, 'kernel'>): BucketQuota {
  const unitMicros = quota.schedule?.tick ?? quota.ticksPerUnit / quota.scale
  const { limit, immediateUnits, overdraft, schedule } = quota
  if ((limit + overdraft) * unitMicros > LONGEST || quota.window > LONGEST) {
    const refilled = schedule === null ? Infinity : Math.floor(LONGEST / schedule.interval) * schedule.amount
    const most = Math.min(Math.floor(LONGEST / unitMicros), refilled)
    const burst = immediateUnits < limit ? `a queue of ${most - 1}` : `a burst of ${most - overdraft}`
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `${what}: the bucket would take over 95 years to fill. Use ${most > overdraft ? burst : `an overdraft of ${most - limit}`} or less.`,
    )
  }
  return Object.freeze({ kernel: 'bucket', ...quota })
}

/** The largest denominator for which the same rate in whole units is proposed. */
const MOST_DENOMINATOR = 1e4

/** How to write a rate of a fraction of a unit: whole units in a longer time. Empty if there is no short way. */
function sameRate(limit: number, per: Duration, perMicros: Micros): string {
  if (typeof limit !== 'number' || !(limit > 0 && limit < 1e6) || Number.isInteger(limit)) return ''
  for (let times = 2; times <= MOST_DENOMINATOR && perMicros * times <= LONGEST; times++) {
    const units = Math.round(limit * times)
    if (units < 1 || units / times !== limit) continue
    const unit = String(per).replace(/[\d.]/g, '')
    const longer = `${Number((Number.parseFloat(String(per)) * times).toFixed(9))}${unit}`
    const burst = Math.max(Math.round(limit), 1)
    const bursts = burst === units ? '' : `, burst: ${burst}`
    return ` For this rate, write tokenBucket({ limit: ${units}, per: ${unit === '' ? longer : `'${longer}'`}${bursts} }).`
  }
  return ''
}
