import { LONGEST, type Micros } from '../common/time.ts'
import { bucket, bucketState } from '../kernels/bucket.ts'
import { type BucketTaken, bucketTaken } from '../kernels/bucket-taken.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import { type Exact, laterBy, MOST_SCALE, partsBetween, spanOf } from '../kernels/fraction.ts'
import type { Step } from '../kernels/kernel.ts'
import { tickOf } from '../kernels/refill-schedule.ts'
import type { Deadline, Take } from '../stores/store.ts'
import { sameSchedule } from './cached-state.ts'

/** A request that consumes units of a bucket without waiting. */
export interface PlainTake extends Take {
  readonly step: BucketStep
}

/** The arguments of a store call for one request. */
export interface Call {
  readonly take: PlainTake
  readonly at: Micros | undefined
  readonly deadline: Deadline | undefined
}

/** Units that are consumed in the store and not yet spent here. */
export interface Lease {
  /** The step that consumed them. */
  readonly step: BucketStep
  /** The store's clock; `askedMs` is the local one before the call. */
  readonly now: Micros
  readonly askedMs: number
  /** The tick at which the bucket would be full again if nothing were consumed after them. */
  readonly tat: Exact
  /** Identifies the units for a refund. */
  readonly gross: Exact
  /** Parts of ticks that are left to spend: the last ones before `tat`. */
  held: number
}

/** Reports whether a take can be served from a lease. */
export function isPlain(take: Take | undefined): take is PlainTake {
  const step = take?.step
  return (
    step?.kernel === 'bucket' &&
    !step.peek &&
    step.increment > 0 &&
    step.check === step.increment &&
    step.start === null &&
    step.maxWaitMicros === 0 &&
    step.ceiling * scaleOf(step) <= MOST_SCALE
  )
}

/** Reports whether two steps are of the same quota, so that one may spend the other's lease. */
export function isSameQuota(a: BucketStep, b: BucketStep): boolean {
  return a.tolerance === b.tolerance && a.ceiling === b.ceiling && sameSchedule(a, b)
}

/** The store's time, extrapolated by the local clock: it may be ahead, never behind. */
export const momentOf = ({ now, askedMs }: Pick<Lease, 'now' | 'askedMs'>, ms: number): Micros =>
  now + Math.ceil((ms - askedMs) * 1000)

/** In how many parts a tick is counted. */
export const scaleOf = ({ fraction }: BucketStep): number => fraction?.scale ?? 1

/** The parts of ticks that a step takes. */
export const partsOf = ({ increment, fraction }: BucketStep): number =>
  fraction === null ? increment : increment * fraction.scale - fraction.increment

/** The parts left of a lease, without those that the bucket has refilled by `now`. */
export const partsLeft = ({ tat, held, step }: Lease, now: Micros): number =>
  Math.max(Math.min(held, partsBetween({ tick: tickOf(now, step.schedule), early: 0 }, tat, scaleOf(step))), 0)

/** Whether a step fits a bucket that is full again at `full`, and the tick at which the take begins. */
export function tryAt(full: Exact, now: Micros, step: BucketStep): { readonly allowed: boolean; readonly base: Exact } {
  const { allowed, base, early } = bucket(bucketState(now, full, step), now, step)
  return { allowed, base: { tick: base, early: early.base } }
}

/** Spends units of a lease; undefined if it has too few. */
export function spend(lease: Lease, step: BucketStep, now: Micros): BucketTaken | undefined {
  const [left, parts] = [partsLeft(lease, now), partsOf(step)]
  const { allowed, base } = tryAt(laterBy(lease.tat, -left, scaleOf(step)), now, step)
  if (left < parts || !allowed) return undefined
  lease.held = left - parts
  return takenAt({ ...lease, now }, base, step)
}

/** The answer to a step that begins at `base`, as a part of the answer `of` a larger one. */
export function takenAt(of: Pick<Lease, 'now' | 'tat' | 'gross'>, base: Exact, step: BucketStep): BucketTaken {
  const scale = scaleOf(step)
  const tat = laterBy(base, partsOf(step), scale)
  const gross = laterBy(tat, partsBetween(of.tat, of.gross, scale), scale)
  return bucketTaken(step.fraction, true, of.now, base, tat, gross)
}

/** The answer to a step that does not fit a bucket that is full again at `base`. */
export const denial = (now: Micros, base: Exact, step: BucketStep): BucketTaken =>
  bucketTaken(step.fraction, false, now, base, base)

/** One step for the parts of several. */
export function stepOf(step: BucketStep, parts: number): BucketStep {
  const { tick, early } = spanOf(parts, 1, scaleOf(step))
  return {
    ...step,
    increment: tick,
    check: tick,
    fraction: step.fraction && { ...step.fraction, increment: early, check: early },
  }
}

/**
 * The step that returns the rest of a lease, if nothing was consumed after it. Its burst of 0 keeps the refund from moving
 * later takes down, because other processes may hold those as leases.
 */
export function returnStep({ step, gross }: Lease, parts: number): Step {
  const { tick, early } = spanOf(parts, 1, scaleOf(step))
  const whole = { increment: -tick, check: 0, tolerance: LONGEST, burst: 0, until: gross.tick, ends: 0, whole: true }
  const exact = { increment: 0 - early, check: 0, tolerance: 0, burst: 0, until: gross.early }
  return { ...step, ...whole, fraction: step.fraction && { ...step.fraction, ...exact } }
}
