import { QuotaError } from '@spillway/core'
import { checkCount, checkOptions } from '@spillway/core/internal'

/** The bounds of a limit that adapts. */
export interface AdaptiveOptions {
  /**
   * The limit never falls below this.
   * @default `1`
   */
  readonly min?: number
  /**
   * The limit never rises above this, such as the number of connections that a database allows.
   * @default `1_000`
   */
  readonly max?: number
  /**
   * The limit at the start. From there it doubles while calls wait and none of them queues in the service.
   * @default `20`, within the bounds
   */
  readonly initial?: number
}

/** A limit that adapts, as `adaptive` returns it. Each shedder learns its own. */
export interface Adaptive {
  readonly kind: 'adaptive'
  readonly min: number
  readonly max: number
  readonly initial: number
}

/**
 * A concurrency limit that finds by itself how many calls the service behind can take at once. Throws a `QuotaError` if an option
 * is invalid.
 *
 * @example
 * const overload = shedder({ limit: adaptive({ max: 100 }) })
 */
export function adaptive(options: AdaptiveOptions = {}): Adaptive {
  checkOptions('adaptive', options, ['min', 'max', 'initial'])
  const { min = 1, max = Math.max(1_000, min) } = options
  checkCount('min', min, 1)
  checkCount('max', max, 1)
  if (max < min) throw outside(`max must be min or more: adaptive({ min: ${max}, max: ${min} })`, `${min} and ${max}`)
  const { initial = Math.min(Math.max(20, min), max) } = options
  checkCount('initial', initial, 1)
  if (initial < min || initial > max) throw outside(`initial must be between min and max, ${min} and ${max}`, initial)
  return Object.freeze({ kind: 'adaptive', min, max, initial })
}

const outside = (rule: string, got: unknown): QuotaError =>
  new QuotaError('ERR_SPILLWAY_OPTION', `${rule}; got ${got}.`)
