import { type BucketStep, type BucketTaken, bucket, bucketState } from '../kernels/bucket.ts'
import { type Exact, laterBy, MOST_SCALE, partsBetween, spanOf } from '../kernels/fraction.ts'
import type { Step } from '../kernels/kernel.ts'
import { tickOf } from '../kernels/refill-schedule.ts'
import type { Take } from '../store.ts'
import { LONGEST, type Micros } from '../time.ts'
import { sameSchedule } from './cached-state.ts'

/** A request that takes its units from a bucket now or not at all. */
export interface PlainTake extends Take {
  readonly step: BucketStep
}

/** Units that are taken from the store and not spent yet. */
export interface Lease {
  /** The step that they were taken by. */
  readonly step: BucketStep
  /** The store's clock, and ours before the store was asked. */
  readonly now: Micros
  readonly askedMs: number
  /** The tick at which the bucket is full again, as if nobody took anything after them. */
  readonly tat: Exact
  /** By which number the units can be refunded. */
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

/** Reports whether two steps are of quotas that count alike, so that one may spend what the other has leased. */
export function isSameQuota(a: BucketStep, b: BucketStep): boolean {
  return a.tolerance === b.tolerance && a.ceiling === b.ceiling && sameSchedule(a, b)
}

/** The store's clock, as ours tells it: ours may be ahead, never behind. */
export const momentOf = ({ now, askedMs }: Pick<Lease, 'now' | 'askedMs'>, ms: number): Micros =>
  now + Math.ceil((ms - askedMs) * 1000)

/** In how many parts a tick is counted. */
export const scaleOf = ({ fraction }: BucketStep): number => fraction?.scale ?? 1

/** The parts of ticks that a step takes. */
export const partsOf = ({ increment, fraction }: BucketStep): number =>
  fraction === null ? increment : increment * fraction.scale - fraction.increment

/** What is left of a lease: the bucket has refilled by itself what lies before `now`. */
export const partsLeft = ({ tat, held, step }: Lease, now: Micros): number =>
  Math.max(Math.min(held, partsBetween({ tick: tickOf(now, step.schedule), early: 0 }, tat, scaleOf(step))), 0)

/** Whether a bucket takes a step that was full again at `full`, and where it begins. */
export function tryAt(full: Exact, now: Micros, step: BucketStep): { readonly allowed: boolean; readonly base: Exact } {
  const seen = { scale: scaleOf(step), base: full.early, tat: full.early, gross: full.early }
  const { allowed, base, early } = bucket(bucketState({ now, base: full.tick, early: seen }, step), now, step)
  return { allowed, base: { tick: base, early: early.base } }
}

/** Spends units of a lease; undefined if it has not enough. */
export function spend(lease: Lease, step: BucketStep, now: Micros): BucketTaken | undefined {
  const [left, parts] = [partsLeft(lease, now), partsOf(step)]
  const { allowed, base } = tryAt(laterBy(lease.tat, -left, scaleOf(step)), now, step)
  if (left < parts || !allowed) return undefined
  lease.held = left - parts
  return takenAt({ ...lease, now }, base, step)
}

/** What a store would answer to a step from `base` on that is part of what it has answered to another. */
export function takenAt(of: Pick<Lease, 'now' | 'tat' | 'gross'>, base: Exact, step: BucketStep): BucketTaken {
  const scale = scaleOf(step)
  const tat = laterBy(base, partsOf(step), scale)
  return takenOf(true, of.now, base, tat, laterBy(tat, partsBetween(of.tat, of.gross, scale), scale), step)
}

/** What a store would answer that found the bucket full again at `base`, to a step that does not fit. */
export const denial = (now: Micros, base: Exact, step: BucketStep): BucketTaken =>
  takenOf(false, now, base, base, base, step)

function takenOf(allowed: boolean, now: Micros, base: Exact, tat: Exact, gross: Exact, step: BucketStep): BucketTaken {
  const taken = { allowed, now, base: base.tick, tat: tat.tick, gross: gross.tick }
  if (step.fraction === null) return taken
  return { ...taken, early: { scale: step.fraction.scale, base: base.early, tat: tat.early, gross: gross.early } }
}

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
 * Returns what is left of a lease if nobody has taken anything after it: with a burst of 0, a refund moves nobody down,
 * as others may have leased what would be moved.
 */
export function returnStep({ step, gross }: Lease, parts: number): Step {
  const { tick, early } = spanOf(parts, 1, scaleOf(step))
  const whole = { increment: -tick, check: 0, tolerance: LONGEST, burst: 0, until: gross.tick, ends: 0, whole: true }
  const exact = { increment: 0 - early, check: 0, tolerance: 0, burst: 0, until: gross.early }
  return { ...step, ...whole, fraction: step.fraction && { ...step.fraction, ...exact } }
}
