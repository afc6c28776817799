import type { Micros } from '../common/time.ts'
import { type Exact, type Fraction, isSame } from './fraction.ts'

/** The result of a bucket step in a store. */
export interface BucketTaken {
  /** Whether this step fits. A batch takes only if each of its steps fits. */
  readonly allowed: boolean
  readonly now: Micros
  /** The tick at which the bucket was full again before the step, never in the past. */
  readonly base: number
  /** The tick at which it is full again now: later than `base` if taken, earlier if refunded. */
  readonly tat: number
  /** Present only if the step has a `fraction`. */
  readonly early?: Earlies
  /** What `tat` would be if no refund had moved takes down. Present only if it differs from `tat`. */
  readonly gross?: Exact
}

/** How much earlier than their ticks the numbers of a result are, in parts of `scale`. */
export interface Earlies {
  readonly scale: number
  readonly base: number
  readonly tat: number
}

/** The result of a step with a `fraction`; `null` if its numbers are whole. */
export function bucketTaken(
  fraction: Fraction | null,
  allowed: boolean,
  now: Micros,
  base: Exact,
  tat: Exact,
  gross: Exact = tat,
): BucketTaken {
  const whole = { allowed, now, base: base.tick, tat: tat.tick }
  const taken =
    fraction === null ? whole : { ...whole, early: { scale: fraction.scale, base: base.early, tat: tat.early } }
  return isSame(gross, tat) ? taken : { ...taken, gross }
}

/** A number of a result with its part of a microsecond. */
export const exactIn = (
  taken: Record<'base' | 'tat', number> & { readonly early?: Earlies },
  name: 'base' | 'tat',
): Exact => ({ tick: taken[name], early: taken.early?.[name] ?? 0 })

/** What identifies a take for a refund. */
export const grossOf = (taken: BucketTaken): Exact => taken.gross ?? exactIn(taken, 'tat')
