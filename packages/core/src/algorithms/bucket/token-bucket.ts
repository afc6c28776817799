import { formatValue, QuotaError } from '../../common/errors.ts'
import { checkOptions } from '../../common/guess.ts'
import { checkWhole } from '../../common/options.ts'
import { type Micros, micros } from '../../common/time.ts'
import { commonDivisor } from '../../kernels/fraction.ts'
import type { Start } from '../../kernels/start.ts'
import { register } from '../algorithm.ts'
import type { LeakyBucketOptions, RateOptions, TokenBucketOptions } from '../quota-options.ts'
import type { BucketQuota } from '../quota-types.ts'
import { bucketAlgorithm } from './bucket-algorithm.ts'
import { bucketQuota, continuous, noUnits, scheduled, startLacking, ticksOf } from './bucket-quota.ts'
import { numbersOf, rateOf } from './rate.ts'
import { scheduledAlgorithm } from './scheduled-algorithm.ts'

const bucket = /* @__PURE__ */ register('bucket', bucketAlgorithm)
const scheduledBucket = /* @__PURE__ */ register('bucket', scheduledAlgorithm)

/** Returns a token bucket: `limit` units at once, and then `limit` a second. In any such time it allows less than twice as many. */
export const perSecond = (limit: number, options?: RateOptions): BucketQuota =>
  bucket(rateOf('perSecond', limit, '1s', options))
/** Returns a token bucket: `limit` units at once, and then `limit` a minute. In any such time it allows less than twice as many. */
export const perMinute = (limit: number, options?: RateOptions): BucketQuota =>
  bucket(rateOf('perMinute', limit, '1m', options))
/** Returns a token bucket: `limit` units at once, and then `limit` an hour. In any such time it allows less than twice as many. */
export const perHour = (limit: number, options?: RateOptions): BucketQuota =>
  bucket(rateOf('perHour', limit, '1h', options))
/** Returns a token bucket: `limit` units at once, and then `limit` a day (24 hours). In any such time it allows less than twice as many. */
export const perDay = (limit: number, options?: RateOptions): BucketQuota =>
  bucket(rateOf('perDay', limit, '1d', options))

/**
 * Returns a token bucket of `burst` units that refills at `limit` units per `per` (GCRA). It allows at most
 * `burst + limit × t / per` units in any span of time `t`; if it refills at intervals, `burst` and one amount for each interval
 * that begins in the span. Throws a `QuotaError` if an option is invalid.
 */
export function tokenBucket(options: TokenBucketOptions): BucketQuota {
  checkOptions('tokenBucket', options, ['limit', 'per', 'burst', 'refill', 'overdraft', 'initial', 'keepFull'])
  const { limit, per, burst } = numbersOf('tokenBucket', options)
  const overdraft = checkWhole('tokenBucket overdraft', options.overdraft ?? 0, 0)
  if (limit === 0) return bucket(noUnits(per))
  const counts = { limit: burst, immediateUnits: burst, overdraft }
  if (options.refill === undefined || options.refill === 'continuous') {
    const ticks = ticksOf('tokenBucket', limit, per)
    return bucket(continuous('tokenBucket', { ...counts, start: startOf(options, burst, ticks), ...ticks }))
  }
  const interval = micros(options.refill, 'tokenBucket refill')
  const amount = Number((BigInt(limit) * BigInt(interval)) / BigInt(per))
  if (BigInt(amount) * BigInt(per) !== BigInt(limit) * BigInt(interval)) {
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `tokenBucket refill must divide the rate into whole units: ${limit} per ${formatValue(options.per)} is no whole number every ${formatValue(options.refill)}. Use a limit of ${wholeLimit(limit, per, interval)}, change refill, or leave refill out to refill continuously.`,
    )
  }
  if (amount > interval) {
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `tokenBucket refill must be at most one unit a microsecond, in which it counts; got ${amount} units every ${formatValue(options.refill)}. Use a limit of ${per} at most, leave refill out to refill continuously, or write fixedWindow({ limit: ${Math.min(burst, amount)}, window: ${formatValue(options.refill)} }).`,
    )
  }
  const schedule = scheduled({ interval, amount, offset: 0 })
  const window = Math.ceil(burst / amount) * interval
  return scheduledBucket(
    bucketQuota('tokenBucket', { ...counts, window, start: startOf(options, burst, schedule), ...schedule }),
  )
}

/**
 * Returns a quota that allows units one by one, `limit` per `per`, in the order of the requests. Up to `queue` units wait
 * for their turn, which `delayMs` reports; more are denied. Throws a `QuotaError` if an option is invalid.
 */
export function leakyBucket(options: LeakyBucketOptions): BucketQuota {
  checkOptions('leakyBucket', options, ['limit', 'per', 'queue'])
  const rate = checkWhole('leakyBucket limit', options.limit, 0)
  const queue = checkWhole('leakyBucket queue', options.queue, 0)
  const per = micros(options.per, 'leakyBucket per')
  if (rate === 0) return bucket(noUnits(per))
  const ticks = ticksOf('leakyBucket', rate, per)
  return bucket(continuous('leakyBucket', { limit: queue + 1, immediateUnits: 1, overdraft: 0, start: null, ...ticks }))
}

/** The level of a new key; null if it starts full. */
function startOf(
  options: TokenBucketOptions,
  burst: number,
  ticks: Pick<BucketQuota, 'ticksPerUnit' | 'scale'>,
): Start | null {
  const { initial, keepFull } = options
  if (initial === undefined && keepFull === undefined) return null
  const units = checkWhole('tokenBucket initial', initial, 0)
  const keep = micros(keepFull ?? '1d', 'tokenBucket keepFull')
  if (units < burst) return startLacking(burst - units, ticks, keep)
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `tokenBucket initial must be less than burst, which is what a new key starts with by default; got ${units} of ${burst}. Leave initial out.`,
  )
}

/** The nearest limit that refills whole units in each interval. */
function wholeLimit(limit: number, per: Micros, interval: Micros): number {
  const step = per / commonDivisor(per, interval)
  return Math.min(Math.max(Math.round(limit / step), 1) * step, per)
}
