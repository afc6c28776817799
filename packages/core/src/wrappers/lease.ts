import { type BucketStep, type BucketTaken, bucket, bucketState, tickOf } from '../kernels/bucket.ts'
import type { Step } from '../kernels/kernel.ts'
import type { Take } from '../store.ts'
import { LONGEST, type Micros } from '../time.ts'
import { sameGrain } from './cached-state.ts'

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
  readonly tat: number
  /** By which number the units can be refunded. */
  readonly gross: number
  /** Ticks that are left to spend: the last ones before `tat`. */
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
    step.patience === 0
  )
}

/** Reports whether two steps are of quotas that count alike, so that one may spend what the other has leased. */
export function countsAlike(a: BucketStep, b: BucketStep): boolean {
  return a.tolerance === b.tolerance && a.ceiling === b.ceiling && sameGrain(a, b)
}

/** The store's clock, as ours tells it: ours may be ahead, never behind. */
export const momentOf = ({ now, askedMs }: Pick<Lease, 'now' | 'askedMs'>, ms: number): Micros =>
  now + Math.ceil((ms - askedMs) * 1000)

/** Ticks that are left of a lease: the bucket has refilled those before `now` by itself. */
export const ticksLeft = ({ tat, held, step }: Lease, now: Micros): number =>
  Math.max(Math.min(held, tat - tickOf(now, step.grain)), 0)

/** Spends units of a lease; undefined if it has not enough. */
export function spend(lease: Lease, step: BucketStep, now: Micros): BucketTaken | undefined {
  const left = ticksLeft(lease, now)
  const before = lease.tat - left
  const { allowed, base } = bucket(bucketState({ now, base: before }, step), now, step)
  if (left < step.increment || !allowed) return undefined
  lease.held = left - step.increment
  return takenAt({ now, base, tat: lease.tat, gross: lease.gross }, base, step.increment)
}

/** What a store would answer to a take of ticks from `base` on, that are part of what it has answered to another. */
export function takenAt(of: Omit<BucketTaken, 'allowed'>, base: number, ticks: number): BucketTaken {
  const tat = base + ticks
  return { allowed: true, now: of.now, base, tat, gross: tat + of.gross - of.tat }
}

/** One step for the ticks of several. */
export const stepOf = (step: BucketStep, ticks: number): BucketStep => ({ ...step, increment: ticks, check: ticks })

/**
 * Returns what is left of a lease if nobody has taken anything after it: with a burst of 0, a refund moves nobody down,
 * as others may have leased what would be moved.
 */
export function returning({ step, gross }: Lease, ticks: number): Step {
  return { ...step, increment: -ticks, check: 0, tolerance: LONGEST, burst: 0, until: gross, ends: 0, whole: true }
}

/** What a request is answered that found the bucket full again at `base`, and does not fit. */
export const denial = (now: Micros, base: number): BucketTaken => ({
  allowed: false,
  now,
  base,
  tat: base,
  gross: base,
})
