import { type Duration, type Logger, micros } from '@spillway/core'
import { checkCount, checkFunctions, checkLogger, checkOptions, invalidOption } from '@spillway/core/internal'
import { type Adaptive, adaptive } from './adaptive.ts'
import type { Clock } from './clock.ts'
import type { ShedEvent } from './report.ts'
import { systemClock } from './system-clock.ts'

/** The options of `shedder`. */
export interface ShedderOptions {
  /**
   * How many calls may be in flight at once: `adaptive({ min, max, initial })`, or a number that never changes.
   * @default `adaptive()`
   */
  readonly limit?: Adaptive | number
  /**
   * How many calls may wait while the limit is reached. If there are more, one of the lowest priority is dropped. 0 drops all
   * calls beyond the limit at once.
   * @default `1_000`
   */
  readonly queue?: number
  /**
   * A queue in which calls wait for longer than this, for all of `interval`, is one of overload: then the newest calls are served
   * first, and those that have waited twice as long are dropped. If five calls take longer to be served, it is that time.
   * @default `'5ms'`
   */
  readonly target?: Duration
  /**
   * How long a queue may stand before it counts as overload, and how long a call waits at most. If a hundred calls take longer to
   * be served, it is that time, up to 20 times the interval.
   * @default `'100ms'`
   */
  readonly interval?: Duration
  /**
   * The share of the limit that is kept for `'critical'` calls, 0 to 0.9, while there are any.
   * @default `0.1`
   */
  readonly reserve?: number
  /**
   * How long a turn of the event loop serves calls that take only CPU time. The others wait in the queue, where priorities, keys
   * and waits count, and not in the sockets. `false` bounds no turn.
   * @default `'2ms'`
   */
  readonly maxLag?: Duration | false
  /**
   * How long clients wait before they try again, on average: a random time between half of it and three halves, so that they do not all come
   * back at once.
   * @default `'2s'`
   */
  readonly retryAfter?: Duration
  /**
   * Called with each decision.
   * @default none
   */
  readonly onDecision?: (event: ShedEvent) => void
  /**
   * Receives the warning about a listener that throws.
   * @default `console`
   */
  readonly logger?: Logger
  /**
   * The time and timers, for tests: `after(0, …)` calls back in the next turn of the event loop.
   * @default `performance`, `setTimeout` and `setImmediate`
   */
  readonly clock?: Clock
}

/** The options, checked. */
export interface Config {
  readonly limit: Adaptive | number
  readonly queue: number
  readonly targetMs: number
  readonly intervalMs: number
  readonly reserve: number
  readonly maxLagMs: number
  readonly retryAfterMs: number
  readonly onDecision: ((event: ShedEvent) => void) | undefined
  readonly logger: Logger
  readonly clock: Clock
}

/** The names of the options. */
export const OPTIONS: readonly (keyof ShedderOptions)[] = [
  'limit',
  'queue',
  'target',
  'interval',
  'reserve',
  'maxLag',
  'retryAfter',
  'onDecision',
  'logger',
  'clock',
]

/** Checks the options. Throws a `QuotaError` if one is invalid. */
export function configOf(where: string, options: ShedderOptions, others: readonly string[] = []): Config {
  checkOptions(where, options, [...OPTIONS, ...others])
  checkFunctions(options, ['onDecision'])
  const { limit = adaptive(), queue = 1_000, reserve = 0.1, clock = systemClock, onDecision, logger } = options
  const targetMs = micros(options.target ?? '5ms', 'target') / 1_000
  const intervalMs = micros(options.interval ?? '100ms', 'interval') / 1_000
  if (intervalMs < 2 * targetMs)
    throw invalidOption(`interval must be twice the target, ${2 * targetMs} ms, or longer`, options.interval ?? '100ms')
  if (typeof reserve !== 'number' || !(reserve >= 0 && reserve <= 0.9))
    throw invalidOption('reserve must be a share of the limit, 0 to 0.9', reserve)
  if (typeof clock?.now !== 'function' || typeof clock.after !== 'function')
    throw invalidOption('clock must have now(), which returns milliseconds, and after(ms, callback)', clock)
  return {
    limit: checkLimit(limit),
    queue: checkCount('queue', queue, 0),
    targetMs,
    intervalMs,
    reserve,
    maxLagMs: options.maxLag === false ? Infinity : micros(options.maxLag ?? '2ms', 'maxLag') / 1_000,
    retryAfterMs: micros(options.retryAfter ?? '2s', 'retryAfter') / 1_000,
    onDecision,
    logger: checkLogger(logger),
    clock,
  }
}

function checkLimit(limit: unknown): Adaptive | number {
  if (typeof limit === 'number') return checkCount('limit', limit, 1)
  if ((limit as Adaptive | null)?.kind === 'adaptive') return limit as Adaptive
  throw invalidOption('limit must be adaptive({ min, max, initial }), or a whole number of calls at once', limit)
}
