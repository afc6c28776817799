import { formatValue, QuotaError } from '../common/errors.ts'
import { checkOptions, checkWhole } from '../common/options.ts'
import { type Duration, LONGEST, type Micros, micros } from '../common/time.ts'
import { spanOf } from '../kernels/fraction.ts'
import { LONGEST_WARM_UP } from '../kernels/warm-up.ts'
import { bucketQuota, build, continuous, scheduled, ticksOf } from './bucket-quota.ts'
import { LONGEST_LOG, MOST_SHARES } from './quota-checks.ts'
import type {
  FixedWindowOptions,
  LeakyBucketOptions,
  RateOptions,
  TokenBucketOptions,
  WarmingUpOptions,
  WindowOptions,
} from './quota-options.ts'
import type { BucketQuota, SlidingLogQuota, SlidingWindowQuota, WarmUpQuota } from './quota-types.ts'

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
      calendar: null,
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
  return Object.freeze({ kernel: 'sliding-window', limit, window, tick, fixed: false, calendar: null })
}

/** The smallest of these ticks in which shares of a window's units are exact. */
function tickFor(what: string, options: WindowOptions, ticks: readonly Micros[]): Micros {
  const { limit } = options
  const window = micros(options.window, `${what} window`)
  const tick = ticks.find((each) => window % each === 0 && limit * (window / each) <= MOST_SHARES)
  if (tick !== undefined) return tick
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what}: shares of ${limit} units over ${formatValue(options.window)} are not exact in whole numbers. Use a window of whole seconds, or a smaller limit.`,
  )
}

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
