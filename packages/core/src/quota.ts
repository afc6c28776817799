import { formatValue, QuotaError } from './errors.ts'
import { commonDivisor, MOST_SCALE, spanOf } from './kernels/fraction.ts'
import type { RefillSchedule } from './kernels/refill-schedule.ts'
import type { Start } from './kernels/start.ts'
import { LONGEST_WARM_UP } from './kernels/warm-up.ts'
import { checkOptions } from './options.ts'
import { type Duration, LONGEST, type Micros, micros } from './time.ts'

/** The numbers of a rate limit, built by `perMinute(100)` and its siblings: plain, frozen data. */
export type Quota = BucketQuota | SlidingWindowQuota | SlidingLogQuota | WarmUpQuota

/** A quota kept as a bucket. */
export interface BucketQuota {
  readonly kernel: 'bucket'
  /** The most units that can be consumed at once. */
  readonly limit: number
  /** How many of them are allowed without a delay; the others are allowed with a delay, in a queue. */
  readonly immediateUnits: number
  /** The time in which an empty bucket refills, in microseconds. */
  readonly window: Micros
  /** Ticks in which one unit refills; 1 if there is a `schedule`. */
  readonly ticksPerUnit: number
  /** Ticks in a microsecond; 1 if a unit takes whole microseconds, or there is a `schedule`. */
  readonly scale: number
  /** How many units a request may consume beyond an empty bucket. Later requests wait for them to refill. */
  readonly overdraft: number
  /** The refill at intervals; `null` refills continuously. */
  readonly schedule: RefillSchedule | null
  /** The level of a new key; `null` starts full. */
  readonly start: Start | null
}

/** A quota kept as two counts. */
export interface SlidingWindowQuota {
  readonly kernel: 'sliding-window'
  readonly limit: number
  readonly window: Micros
  /** The microseconds in whose multiples shares of the window are computed. */
  readonly tick: Micros
  /** Whether this is a fixed window from the key's first request: the previous window does not count. */
  readonly fixed: boolean
}

/** A quota kept as a log. */
export interface SlidingLogQuota {
  readonly kernel: 'sliding-log'
  readonly limit: number
  readonly window: Micros
}

/** A quota whose rate rises while it is used. */
export interface WarmUpQuota {
  readonly kernel: 'warm-up'
  /** One unit is allowed at a time. */
  readonly limit: 1
  /** The most units that one request may consume, for the requests after it to wait for. */
  readonly burst: number
  /** The time of one unit when warm, in whole microseconds. */
  readonly window: Micros
  /** Ticks of one unit when warm. */
  readonly ticksPerUnit: number
  /** Ticks in a microsecond. */
  readonly scale: number
  /** Half of the warm-up period. */
  readonly half: Micros
}

/** Options of `perSecond` and its siblings. */
export interface RateOptions {
  /**
   * The most units that can be consumed at once. `1` paces requests evenly.
   * @default the `limit`
   */
  readonly burst?: number
}

/** Options of `tokenBucket`: `limit` units refill per `per`. */
export interface TokenBucketOptions extends RateOptions {
  /** Units that refill in each `per`: a whole number. */
  readonly limit: number
  /** The time in which `limit` units refill. */
  readonly per: Duration
  /**
   * `'continuous'` refills unit by unit; a duration refills whole amounts at its intervals.
   * @default `'continuous'`
   */
  readonly refill?: 'continuous' | Duration
  /**
   * Units by which one request may overdraw the bucket. Later requests wait until they are refilled.
   * @default `0`
   */
  readonly overdraft?: number
  /**
   * Units that a new key starts with: 0 or more, less than `burst`.
   *
   * @default the `burst`
   */
  readonly initial?: number
  /**
   * How long a bucket with `initial` stays known after it is full. Later its key is new, and starts with `initial` again.
   *
   * @default `'1d'`
   */
  readonly keepFull?: Duration
}

/** Options of `fixedWindow`: `limit` units in each `window`. */
export interface FixedWindowOptions {
  /** Units in each window: a whole number. */
  readonly limit: number
  /** The length of each window. */
  readonly window: Duration
  /**
   * When windows start: `'clock'`, at multiples of `window` since 1970 UTC, the same for all keys; `'first'`, at the key's
   * first request after its last window.
   * @default `'clock'`
   */
  readonly align?: 'clock' | 'first'
  /**
   * Shifts the windows of the clock.
   * @default `0`
   */
  readonly offset?: Duration
}

/** Options of `slidingWindow` and `slidingLog`: `limit` units in any `window`. */
export interface WindowOptions {
  /** Units in any window: a whole number. */
  readonly limit: number
  /** The length of the window. */
  readonly window: Duration
}

/** Options of `leakyBucket`: `limit` units leave per `per`. */
export interface LeakyBucketOptions {
  /** Units that leave the queue in each `per`, evenly spaced: a whole number. */
  readonly limit: number
  /** The time in which `limit` units leave. */
  readonly per: Duration
  /** How many units can wait. Requests beyond it are denied. */
  readonly queue: number
}

/** Options of `warmingUp`: `limit` units per `per`, once it is warm. */
export interface WarmingUpOptions {
  /** Units in each `per` when warm: a whole number. */
  readonly limit: number
  /** The time of `limit` units when warm. */
  readonly per: Duration
  /**
   * The time in which a cold key gets to the full rate, if it is used as much as it allows. A key that is idle for as
   * long is cold again. 2 hours at most.
   */
  readonly warmUpPeriod: Duration
  /**
   * The most units that one request may consume. It does not wait for them: the requests after it do.
   * @default the `limit`
   */
  readonly burst?: number
}

/** Returns a token bucket of `limit` units a second. */
export const perSecond = (limit: number, options?: RateOptions): BucketQuota => rate('perSecond', limit, '1s', options)
/** Returns a token bucket of `limit` units a minute. */
export const perMinute = (limit: number, options?: RateOptions): BucketQuota => rate('perMinute', limit, '1m', options)
/** Returns a token bucket of `limit` units an hour. */
export const perHour = (limit: number, options?: RateOptions): BucketQuota => rate('perHour', limit, '1h', options)
/** Returns a token bucket of `limit` units a day (24 hours). */
export const perDay = (limit: number, options?: RateOptions): BucketQuota => rate('perDay', limit, '1d', options)

function rate(what: string, limit: number, per: Duration, options: RateOptions = {}): BucketQuota {
  checkOptions(what, options, ['burst'])
  return build(what, { ...options, limit, per })
}

/**
 * Returns a token bucket of `burst` units that refills at `limit` units per `per` (GCRA). It allows at most
 * `burst + limit × t / per` units in any span of time `t`; if it refills at intervals, `burst` and one amount for each interval
 * that begins in the span. Throws a `QuotaError` if an option is invalid.
 */
export function tokenBucket(options: TokenBucketOptions): BucketQuota {
  checkOptions('tokenBucket', options, ['limit', 'per', 'burst', 'refill', 'overdraft', 'initial', 'keepFull'])
  return build('tokenBucket', options)
}

/**
 * Returns a quota of `limit` units in each window; all of them refill at the window's end. Around a window boundary,
 * over-admission is up to twice the limit; `tokenBucket` has none. With `align: 'first'`, a window starts at a key's first
 * request that is allowed. Throws a `QuotaError` if an option is invalid.
 */
export function fixedWindow(options: FixedWindowOptions & { readonly align: 'first' }): SlidingWindowQuota
/** Returns a quota of `limit` units in each window of the clock; all of them refill at the window's end. */
export function fixedWindow(options: FixedWindowOptions & { readonly align?: 'clock' }): BucketQuota
/** Returns a quota of `limit` units in each window; all of them refill at the window's end. */
export function fixedWindow(options: FixedWindowOptions): BucketQuota | SlidingWindowQuota
export function fixedWindow(options: FixedWindowOptions): BucketQuota | SlidingWindowQuota {
  checkOptions('fixedWindow', options, ['limit', 'window', 'align', 'offset'])
  const limit = checkWhole('fixedWindow limit', options.limit, 1)
  const window = micros(options.window, 'fixedWindow window')
  if (isAlignedToFirst(options)) {
    return Object.freeze({
      kernel: 'sliding-window',
      limit,
      window,
      tick: tickFor('fixedWindow', options, [window]),
      fixed: true,
    })
  }
  const offset = options.offset === undefined ? 0 : micros(options.offset, 'fixedWindow offset') % window
  return bucketQuota('fixedWindow', {
    limit,
    immediateUnits: limit,
    overdraft: 0,
    start: null,
    ...scheduled('fixedWindow', { interval: window, amount: limit, offset: (window - offset) % window }, window),
    window,
  })
}

function isAlignedToFirst({ align = 'clock', offset }: FixedWindowOptions): boolean {
  if (align !== 'clock' && align !== 'first') {
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `fixedWindow align must be 'clock' or 'first'; got ${formatValue(align)}.`,
    )
  }
  if (align === 'clock' || offset === undefined) return align === 'first'
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `fixedWindow offset moves windows of the clock, and with align 'first' a key's window starts at its first request; got offset ${formatValue(offset)}. Leave out one of them.`,
  )
}

/**
 * Returns a quota of `limit` units in any window, estimated from the counts of the current and the previous window. Around a
 * window boundary, over-admission is up to twice the limit in a window's length; steady traffic gets the limit. Throws a
 * `QuotaError` if an option is invalid.
 */
export function slidingWindow(options: WindowOptions): SlidingWindowQuota {
  checkOptions('slidingWindow', options, ['limit', 'window'])
  const limit = checkWhole('slidingWindow limit', options.limit, 1)
  const window = micros(options.window, 'slidingWindow window')
  const tick = tickFor('slidingWindow', options, [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6])
  return Object.freeze({ kernel: 'sliding-window', limit, window, tick, fixed: false })
}

/** The smallest of these ticks in which shares of a window's units are exact. */
function tickFor(what: string, options: WindowOptions, ticks: readonly Micros[]): Micros {
  const { limit } = options
  const window = micros(options.window, `${what} window`)
  const tick = ticks.find((each) => window % each === 0 && limit * (window / each) <= 2 ** 50)
  if (tick !== undefined) return tick
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what}: shares of ${limit} units over ${formatValue(options.window)} are not exact in whole numbers. Use a window of whole seconds, or a smaller limit.`,
  )
}

/** The longest log of a key: each request reads it whole. */
const LONGEST_LOG = 10_000

/**
 * Returns a quota of `limit` units in any window, exactly: each take is logged for the length of the window. Memory per key
 * and time per request grow with the log, of up to `limit` entries: 10,000 at most. Throws a `QuotaError` if an option is
 * invalid.
 */
export function slidingLog(options: WindowOptions): SlidingLogQuota {
  checkOptions('slidingLog', options, ['limit', 'window'])
  const limit = checkWhole('slidingLog limit', options.limit, 1)
  const window = micros(options.window, 'slidingLog window')
  if (limit <= LONGEST_LOG) return Object.freeze({ kernel: 'sliding-log', limit, window })
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `slidingLog keeps up to limit entries a key, ${LONGEST_LOG} at most; got ${limit}. Use slidingWindow or tokenBucket.`,
  )
}

/**
 * Returns a quota that allows units one by one, `limit` per `per`, in the order of the requests. Up to `queue` units wait
 * for their turn, which `delayMs` reports; more are denied. Throws a `QuotaError` if an option is invalid.
 */
export function leakyBucket(options: LeakyBucketOptions): BucketQuota {
  checkOptions('leakyBucket', options, ['limit', 'per', 'queue'])
  const rate = checkWhole('leakyBucket limit', options.limit, 1)
  const queue = checkWhole('leakyBucket queue', options.queue, 0)
  const ticks = ticksOf('leakyBucket', rate, micros(options.per, 'leakyBucket per'))
  return continuous('leakyBucket', { limit: queue + 1, immediateUnits: 1, overdraft: 0, start: null, ...ticks })
}

/**
 * Returns a quota of `limit` units per `per`, evenly spaced, at a third of that rate at first. The rate rises to `limit` over
 * `warmUpPeriod`, and falls while a key is idle, as that of Guava's `RateLimiter.create(permitsPerSecond,
 * warmupPeriod)`. It allows at most `burst + limit × t / per` units in any span of time `t`. Throws a `QuotaError` if an
 * option is invalid.
 */
export function warmingUp(options: WarmingUpOptions): WarmUpQuota {
  checkOptions('warmingUp', options, ['limit', 'per', 'warmUpPeriod', 'burst'])
  const limit = checkWhole('warmingUp limit', options.limit, 1)
  const burst = checkWhole('warmingUp burst', options.burst ?? limit, 1)
  const ticks = ticksOf('warmingUp', limit, micros(options.per, 'warmingUp per'))
  const period = micros(options.warmUpPeriod, 'warmingUp warmUpPeriod')
  if (period <= LONGEST_WARM_UP) return warmUpQuota('warmingUp', { burst, half: Math.ceil(period / 2), ...ticks })
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `warmingUp warmUpPeriod must be at most '2h', so that it is counted exactly; got ${formatValue(options.warmUpPeriod)}. Use '2h' or less.`,
  )
}

/** A quota that warms up, if the units of a request take a time that can be counted. */
export function warmUpQuota(
  what: string,
  { burst, ticksPerUnit, scale, half }: Pick<WarmUpQuota, 'burst' | 'ticksPerUnit' | 'scale' | 'half'>,
): WarmUpQuota {
  const most = Math.floor((LONGEST * scale) / ticksPerUnit)
  if (burst <= most) {
    return Object.freeze({
      kernel: 'warm-up',
      limit: 1,
      burst,
      window: spanOf(1, ticksPerUnit, scale).tick,
      ticksPerUnit,
      scale,
      half,
    })
  }
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    most < 1
      ? `${what}: a unit would take over 95 years. Use a shorter per.`
      : `${what}: ${burst} units would take over 95 years. Use a burst of ${most} or less.`,
  )
}

function build(what: string, options: TokenBucketOptions): BucketQuota {
  const limit = checkWhole(`${what} limit`, options.limit, 1)
  const per = micros(options.per, `${what} per`)
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
  { ticksPerUnit: unit, scale }: Pick<BucketQuota, 'ticksPerUnit' | 'scale'>,
): Start | null {
  const { initial, keepFull } = options
  if (initial === undefined && keepFull === undefined) return null
  const units = checkWhole(`${what} initial`, initial, 0)
  const keep = micros(keepFull ?? '1d', `${what} keepFull`)
  if (units < burst) {
    const { tick, early } = spanOf(burst - units, unit, scale)
    return Object.freeze({ lacking: tick, early, keep })
  }
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what} initial must be less than burst, which is what a new key starts with by default; got ${units} of ${burst}. Leave initial out.`,
  )
}

/** The fraction `per / limit`, the microseconds of one unit, in lowest terms: ticks per unit, and ticks per microsecond. */
function ticksOf(what: string, limit: number, per: Micros): Pick<BucketQuota, 'ticksPerUnit' | 'scale'> {
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

/** Checks a count of units: whole, because a fraction of a unit could not be refunded exactly. */
export function checkWhole(what: string, value: unknown, least: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value
  const nearest = Number.isFinite(value)
    ? ` Use ${Math.min(Math.max(Math.round(value as number), least), MOST_SCALE)}.`
    : ''
  const fix =
    typeof value === 'number' && value > 0 && value < 1 ? " For less than one a second, write 1 per '2s'." : ''
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what} must be a whole number, ${least} or more; got ${formatValue(value)}.${nearest}${fix}`,
  )
}
