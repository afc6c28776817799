import { leakyBucket, tokenBucket } from '../algorithms/bucket/token-bucket.ts'
import { slidingLog } from '../algorithms/log/sliding-log.ts'
import { penalty } from '../algorithms/penalty/penalty.ts'
import type { BucketQuota, Quota, SlotsQuota } from '../algorithms/quota-types.ts'
import { warmingUp } from '../algorithms/warm-up/warming-up.ts'
import { calendarWindow } from '../algorithms/window/calendar-window.ts'
import { fixedWindow } from '../algorithms/window/fixed-window.ts'
import { slidingWindow } from '../algorithms/window/sliding-window.ts'
import { formatValue, QuotaError } from '../common/errors.ts'
import { type Duration, LONGEST } from '../common/time.ts'
import { fraction } from './decimal.ts'

/** The numbers of a rule's algorithm. Its schema has checked them, so it has no unknown names. */
export interface RateConfig {
  readonly tokens_per_second?: number
  readonly rps?: number
  readonly limit?: number
  readonly per?: Duration
  readonly [name: string]: unknown
}

/** The functions that build quotas of `policiesFrom` which bring more than an algorithm: who does not pass them pays nothing. */
export interface RuleBuilders {
  /**
   * `inFlight` of `@spillway/core/in-flight`, for rules with `in_flight`.
   * @default none, such a rule is an error
   */
  readonly inFlight?: (limit: number, options?: { readonly ttl?: Duration }) => SlotsQuota
}

const QUOTAS: Readonly<Record<string, (config: RateConfig, builders: RuleBuilders) => Quota>> = {
  token_bucket: ({ keep_full: keepFull, ...config }) =>
    holdingRefills(
      tokenBucket({
        ...rateOf(config),
        ...pick(config, 'burst', 'refill', 'overdraft', 'initial'),
        ...(keepFull === undefined ? {} : { keepFull: keepFull as Duration }),
      }),
      config.refill,
    ),
  leaky_bucket: (config) => leakyBucket(pick(config, 'limit', 'per', 'queue')),
  fixed_window: (config) => fixedWindow(pick(config, 'limit', 'window', 'align', 'offset')),
  calendar_window: ({ time_zone: timeZone, first_day: firstDay, ...config }) =>
    calendarWindow({
      ...pick(config, 'limit', 'unit'),
      ...(timeZone === undefined ? {} : { timeZone: timeZone as string }),
      ...(firstDay === undefined ? {} : { firstDay: firstDay as number }),
    }),
  sliding_window: (config) => slidingWindow(pick(config, 'limit', 'window')),
  sliding_log: (config) => slidingLog(pick(config, 'limit', 'window')),
  warming_up: ({ warm_up_period: warmUpPeriod, ...config }) =>
    warmingUp({ ...pick(config, 'limit', 'per', 'burst'), warmUpPeriod: warmUpPeriod as Duration }),
  in_flight: (config, { inFlight }) => {
    if (inFlight !== undefined) return inFlight(config.limit as number, pick(config, 'ttl'))
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      'in_flight needs its builder: policiesFrom(json, { inFlight }), with inFlight of the package of your adapter or @spillway/core/in-flight.',
    )
  },
  penalty: (config) => penalty(pick(config, 'after', 'within', 'block', 'grow', 'max', 'forgive', 'extend')),
}

/**
 * Makes a quota of an algorithm and its numbers. Throws a QuotaError for numbers that no quota can represent exactly.
 */
export function quotaFrom(algorithm: string, config: RateConfig, builders: RuleBuilders): Quota {
  return (QUOTAS[algorithm] as (typeof QUOTAS)[string])(config, builders)
}

/** The bucket. Throws a QuotaError if it holds less than refills at once: its rate would be lower than the one written. */
function holdingRefills(quota: BucketQuota, refill: unknown): BucketQuota {
  const { limit, schedule } = quota
  if (schedule === null || schedule.amount <= limit) return quota
  const { amount } = schedule
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${amount} units refill every ${formatValue(refill)}, but the bucket holds ${limit}, so that ${amount - limit} are lost. Write "burst": ${amount}, or a shorter "refill".`,
  )
}

// biome-ignore lint/suspicious/noExplicitAny: the schema has checked the types, and the quota's options check the values.
const pick = (config: RateConfig, ...names: readonly string[]): any =>
  Object.fromEntries(names.filter((name) => Object.hasOwn(config, name)).map((name) => [name, config[name]]))

/**
 * Units per period, in whole numbers: 0.5 a second is 1 per 2 seconds, exactly. The default burst is the units of a
 * second, rounded up, because 1.001 a second is 1,001 per 1,000 seconds.
 */
function rateOf({ tokens_per_second, rps, limit, per }: RateConfig): { limit: number; per: Duration; burst?: number } {
  const rate = tokens_per_second ?? rps
  if (rate === undefined) return { limit: limit as number, per: per as Duration }
  const [units, seconds] = fraction(rate)
  if (seconds * 1e6 <= LONGEST) return { limit: units, per: seconds * 1e3, burst: Math.ceil(rate) }
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${formatValue(rate)} units per second are not a whole number of units in 95 years or less. Write "limit" and "per" instead, such as { "limit": 1, "per": "3s" }.`,
  )
}
