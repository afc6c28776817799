import type { Micros } from '../common/time.ts'
import type { BucketTaken } from '../kernels/bucket-taken.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import { laterBy, latest } from '../kernels/fraction.ts'
import { denial, type Lease, partsLeft, partsOf, scaleOf, stepOf, takenAt, tryAt } from './lease.ts'
import type { Answer } from './lease-size.ts'

// A share is a lease whose units may be spent for `hold`, also if the bucket refills them meanwhile. The store keeps as many
// units in the bucket as refill in `hold` when it grants one, so that shares and refills together exceed no bucket.

/** How long a process may hold units: a part of the time in which the bucket refills. */
export const holdOf = ({ tolerance }: BucketStep, margin: number): Micros => Math.floor(tolerance * margin)

/** Reports whether a share can be for two such requests or more. Queues are not shared: their units have turns. */
export const isShareable = (step: BucketStep, hold: Micros): boolean =>
  step.schedule === null && step.burst === step.tolerance && 2 * partsOf(step) <= hold * scaleOf(step)

/** The step that takes a share, and leaves in the bucket what refills in `hold`. */
export function shareStep(step: BucketStep, parts: number, hold: Micros): BucketStep {
  const whole = stepOf(step, parts)
  return { ...whole, check: whole.check + hold }
}

/** The parts of a share that can be spent: all for `hold`, and then those that the bucket has not refilled. */
export const partsHeld = (share: Lease, now: Micros, hold: Micros): number =>
  now - share.now < hold ? share.held : partsLeft(share, now)

/** For how many microseconds a share can be spent. */
export const lifeOf = ({ tat, now: granted }: Lease, now: Micros, hold: Micros): Micros =>
  Math.max(granted + hold, tat.tick) - now

/** Spends units of a share; undefined if it has too few. */
export function spendShare(share: Lease, step: BucketStep, now: Micros, hold: Micros): BucketTaken | undefined {
  const [left, parts, scale] = [partsHeld(share, now, hold), partsOf(step), scaleOf(step)]
  if (left < parts) return undefined
  const base = laterBy(share.tat, -left, scale)
  if (!tryAt(latest(base, { tick: now, early: 0 }), now, step).allowed) return undefined
  share.held = left - parts
  const taken = takenAt({ ...share, now }, base, step)
  if (taken.tat >= now) return taken
  // The bucket has refilled the units: it is full, as far as this process knows.
  return { ...taken, tat: now, ...(taken.early && { early: { ...taken.early, tat: 0 } }) }
}

/** The denial of a request that may be sent to the store in `rest` microseconds. */
export function denialFor(last: Answer, now: Micros, rest: Micros, step: BucketStep): BucketTaken {
  const fits = { tick: now + rest + step.tolerance - step.check, early: 0 }
  return denial(now, latest(fits, last.tat), step)
}

/** The demand for a key in this process, in parts of ticks, counted in windows of one `hold`. */
export interface Demand {
  window: number
  parts: number
  before: number
}

export const noDemand = (): Demand => ({ window: 0, parts: 0, before: 0 })

/** Counts the parts of a request. */
export function countDemand(demand: Demand, parts: number, ms: number, hold: Micros): void {
  const window = Math.floor((ms * 1000) / hold)
  if (window !== demand.window) {
    demand.before = window === demand.window + 1 ? demand.parts : 0
    demand.parts = 0
    demand.window = window
  }
  demand.parts += parts
}

/** The parts of the requests of the last `hold`, about. It has been counted at the same moment. */
export const demandAt = ({ window, parts, before }: Demand, ms: number, hold: Micros): number =>
  parts + before * Math.max(1 - ((ms * 1000) / hold - window), 0)
