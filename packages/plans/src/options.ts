import { type Duration, type Logger, type Micros, micros, QuotaError } from '@spillway/core'
import { checkLogger, checkOptions, formatValue } from '@spillway/core/internal'

// Every runtime has it, though no ECMAScript library declares it.
declare const performance: { now(): number }

/** Options of `cached`. */
export interface CachedOptions<V, D extends V | undefined = undefined> {
  /**
   * The maximum number of known keys that are cached, 1 to 10,000,000.
   * @default `10_000`
   */
  readonly max?: number
  /**
   * The maximum number of unknown keys that are cached, 1 to 10,000,000. They have a cache of their own, so that made-up
   * keys do not evict known ones.
   * @default `10_000`
   */
  readonly maxUnknown?: number
  /**
   * How long a result is used before it is looked up again.
   * @default `'1m'`
   */
  readonly ttl?: Duration
  /**
   * How long after `ttl` the last known value is still used: while it is looked up again, and while lookups fail. 0 does
   * not use it.
   * @default `'10m'`
   */
  readonly staleFor?: Duration
  /**
   * How long a request waits for the lookup of a key without a known value.
   * @default `'1s'`
   */
  readonly timeout?: Duration
  /**
   * The value of unknown keys, and of keys whose lookup fails before their value is known.
   * @default none: unknown keys are `undefined`, and a lookup that fails rejects
   */
  readonly default?: D
  /**
   * What is returned if a lookup fails or takes too long: `'stale'` returns the last known value, or `default`;
   * `'throw'` rejects.
   * @default `'stale'`
   */
  readonly onError?: 'stale' | 'throw'
  /**
   * Receives the warnings about lookups that fail.
   * @default `console`
   */
  readonly logger?: Logger
  /**
   * Returns a time in milliseconds that never steps back, for tests.
   * @default `performance.now`
   */
  readonly clock?: () => number
}

/** The options, checked. Spans are in milliseconds, as the cache counts. */
export interface Config<V> {
  readonly max: number
  readonly maxUnknown: number
  readonly ttlMs: number
  readonly staleMs: number
  readonly timeout: Micros
  /** What is returned for unknown keys, and instead of a failed lookup; undefined without a default. */
  readonly fallback: V | undefined
  readonly throws: boolean
  readonly logger: Logger
  readonly clock: () => number
}

/** Checks the options. Throws a `QuotaError` if one is invalid. */
export function configOf<V, D extends V | undefined>(options: CachedOptions<V, D>): Config<V> {
  checkOptions('cached', options, OPTIONS)
  const { max = 10_000, maxUnknown = 10_000, ttl = '1m', staleFor = '10m', timeout = '1s', onError = 'stale' } = options
  if (onError !== 'stale' && onError !== 'throw') {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `onError must be 'stale' or 'throw'; got ${formatValue(onError)}.`)
  }
  const { clock = () => performance.now() } = options
  if (typeof clock !== 'function') {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `clock must be a function that returns milliseconds, such as () => performance.now(); got ${formatValue(clock)}.`,
    )
  }
  return {
    max: checkCount('max', max),
    maxUnknown: checkCount('maxUnknown', maxUnknown),
    ttlMs: millis(ttl, 'ttl'),
    staleMs: staleFor === 0 ? 0 : millis(staleFor, 'staleFor'),
    timeout: micros(timeout, 'timeout'),
    fallback: options.default,
    throws: onError === 'throw',
    logger: checkLogger(options.logger),
    clock: () => timeOf(clock()),
  }
}

/** Throws if it is no number: no value would ever be fresh, and each request would be a lookup. */
function timeOf(now: number): number {
  if (Number.isFinite(now)) return now
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `clock must return milliseconds, such as () => performance.now(); it returned ${formatValue(now)}.`,
  )
}

const OPTIONS: readonly (keyof CachedOptions<unknown>)[] = [
  'max',
  'maxUnknown',
  'ttl',
  'staleFor',
  'timeout',
  'default',
  'onError',
  'logger',
  'clock',
]

/** The cache counts whole milliseconds. */
const millis = (duration: Duration, option: string): number => Math.ceil(micros(duration, option) / 1_000)

/** A cache allocates its bound up front. */
const MOST = 10_000_000

function checkCount(option: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= MOST) return value
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${option} must be a whole number of keys, 1 to ${MOST}; got ${formatValue(value)}.`,
  )
}
