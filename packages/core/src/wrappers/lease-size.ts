import { type BucketStep, type BucketTaken, tickOf } from '../kernels/bucket.ts'
import type { Micros } from '../time.ts'
import { countsAlike, momentOf } from './lease.ts'

/** What the store has answered last about a key. */
interface Answer {
  readonly step: BucketStep
  /** The store's clock, and ours. */
  readonly now: Micros
  readonly askedMs: number
  /** The tick at which the bucket is full again. */
  readonly tat: number
}

/** For how many requests the next lease of a key is. */
export interface LeaseSize {
  /** Requests: doubles when a lease for so many is taken, halves when one is denied or returned. */
  size: number
  last: Answer | undefined
  /** When a request of the key was last allowed or denied, by our clock. */
  usedMs: number
}

export interface LeaseBounds {
  readonly requests: number
  readonly maxLoss: Micros
  readonly idleMs: number
}

/** Keys are asked about as without leases at first. */
export const firstSize = (): LeaseSize => ({ size: 1, last: undefined, usedMs: 0 })

/**
 * The ticks of the next lease, those of `step` among them: for `size` requests, for half of what was left in the bucket,
 * and for what it refills in `maxLoss`, whichever is least.
 */
export function leaseTicks(
  { size, last, usedMs }: LeaseSize,
  step: BucketStep,
  at: Micros | undefined,
  ms: number,
  { maxLoss, idleMs }: LeaseBounds,
): number {
  if (last === undefined || ms - usedMs > idleMs || !countsAlike(last.step, step)) return step.increment
  const { grain, increment, tolerance } = step
  const ahead = Math.max(last.tat - tickOf(at ?? momentOf(last, ms), grain), 0)
  const refilled = grain === null ? maxLoss : Math.floor(maxLoss / grain.every) * grain.amount
  const most = Math.min((tolerance - ahead) / 2, refilled)
  return Math.max(Math.min(size, Math.floor(most / increment)), 1) * increment
}

/** Learns from what the store has answered to a step for requests of so many ticks each. */
export function learn(
  of: LeaseSize,
  step: BucketStep,
  ticks: number,
  { allowed, tat, now }: BucketTaken,
  ms: number,
  { requests }: LeaseBounds,
): void {
  // One that was smaller, as there was no room for more, says nothing of the next.
  const grown = step.increment < of.size * ticks ? of.size : Math.min(of.size * 2, requests)
  of.size = allowed ? grown : halved(of.size)
  of.last = { step, tat, now, askedMs: ms }
  of.usedMs = ms
}

export const halved = (size: number): number => Math.max(Math.floor(size / 2), 1)
