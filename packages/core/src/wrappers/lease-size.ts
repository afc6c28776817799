import type { Micros } from '../common/time.ts'
import { type BucketTaken, exactIn } from '../kernels/bucket-taken.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import { type Exact, partsBetween } from '../kernels/fraction.ts'
import { tickOf } from '../kernels/refill-schedule.ts'
import { isSameQuota, momentOf, partsOf, scaleOf } from './lease.ts'

/** The store's last answer for a key. */
export interface Answer {
  readonly step: BucketStep
  /** The store's clock; `askedMs` is the local one. */
  readonly now: Micros
  readonly askedMs: number
  /** The tick at which the bucket is full again. */
  readonly tat: Exact
}

/** The size of a key's next lease. */
export interface LeaseSize {
  /** Requests: doubles when a lease for so many is taken, halves when one is denied or returned. */
  size: number
  last: Answer | undefined
  /** When a request of the key was last allowed or denied, by the local clock. */
  usedMs: number
}

export interface LeaseBounds {
  readonly requests: number
  readonly maxLoss: Micros
  readonly idleMs: number
}

/** The first request of a key leases nothing. */
export const firstSize = (): LeaseSize => ({ size: 1, last: undefined, usedMs: 0 })

/**
 * The size of the next lease in parts of ticks, including those of `step`: the least of `size` requests, half of what was
 * left in the bucket, and what the bucket refills in `maxLoss`.
 */
export function leaseParts(
  { size, last, usedMs }: LeaseSize,
  step: BucketStep,
  at: Micros | undefined,
  ms: number,
  { maxLoss, idleMs }: LeaseBounds,
): number {
  if (last === undefined || ms - usedMs > idleMs || !isSameQuota(last.step, step)) return partsOf(step)
  const { schedule, fraction, tolerance } = step
  const [scale, parts] = [scaleOf(step), partsOf(step)]
  const now = { tick: tickOf(at ?? momentOf(last, ms), schedule), early: 0 }
  const ahead = Math.max(partsBetween(now, last.tat, scale), 0)
  const refilled = schedule === null ? maxLoss * scale : Math.floor(maxLoss / schedule.interval) * schedule.amount
  const most = Math.min((tolerance * scale - (fraction?.tolerance ?? 0) - ahead) / 2, refilled)
  return Math.max(Math.min(size, Math.floor(most / parts)), 1) * parts
}

/** Adapts the size to the store's answer to `step`, a lease for requests like `request`. */
export function learn(
  of: LeaseSize,
  step: BucketStep,
  request: BucketStep,
  taken: BucketTaken,
  ms: number,
  { requests }: LeaseBounds,
): void {
  // A lease that the bucket or `maxLoss` limited is no reason to grow.
  const grown = partsOf(step) < of.size * partsOf(request) ? of.size : Math.min(of.size * 2, requests)
  of.size = taken.allowed ? grown : halved(of.size)
  of.last = { step, tat: exactIn(taken, 'tat'), now: taken.now, askedMs: ms }
  of.usedMs = ms
}

export const halved = (size: number): number => Math.max(Math.floor(size / 2), 1)
