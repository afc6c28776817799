import { LONGEST, type Micros } from '../../common/time.ts'
import { type BucketTaken, exactIn, grossOf } from '../../kernels/bucket-taken.ts'
import type { BucketStep } from '../../kernels/bucket-types.ts'
import { type Exact, earliest, exactly, isSame, latest, NOTHING, spanOf } from '../../kernels/fraction.ts'
import { tickOf } from '../../kernels/refill-schedule.ts'
import type { BucketQuota } from '../quota-types.ts'
import type { StepOptions, Verb } from '../step-options.ts'
import { needsUnits } from '../verbs.ts'
import { NO_END, stepOf } from './consume-bucket.ts'

/** Reduces a verb on a bucket to a kernel step. */
export function bucketStep(quota: BucketQuota, verb: Verb, cost: number, stepOptions: StepOptions): BucketStep {
  const { ticksPerUnit, scale, immediateUnits } = quota
  const needs = needsUnits(verb)
  const overdraft = stepOptions.prepaid ? 0 : quota.overdraft
  const units = spanOf(cost, ticksPerUnit, scale)
  const increment = verb === 'refund' ? { tick: -units.tick, early: 0 - units.early } : units
  const check = needs ? spanOf(Math.max(cost - overdraft, 0), ticksPerUnit, scale) : NOTHING
  const tolerance = needs ? toleranceOf(quota, stepOptions.maxWaitMicros) : ALL
  const burst = spanOf(immediateUnits, ticksPerUnit, scale)
  const taken =
    stepOptions.original === undefined ? NO_TAKE : refundOf(quota, burst, stepOptions.original as BucketTaken)
  const whole = verb === 'refund' && isSame(taken.ticks, units)
  const maxWaitMicros = maxWaitFor(quota, cost, stepOptions)
  const isPeek = verb === 'peek'
  return stepOf(quota, increment, check, tolerance, burst, maxWaitMicros, taken.until, taken.ends, whole, isPeek)
}

/** In a queue, the tolerance includes the wait. A cost that never fits does not wait. */
const maxWaitFor = (quota: BucketQuota, cost: number, { maxWaitMicros = 0 }: StepOptions): Micros =>
  quota.immediateUnits < quota.limit || cost > quota.limit + quota.overdraft ? 0 : maxWaitMicros

/** The take that is refunded: its `gross`, its earliest end, and its ticks. */
interface Refunded {
  readonly until: Exact
  readonly ends: number
  readonly ticks: Exact
}

const ALL: Exact = { tick: LONGEST, early: 0 }
const NO_TAKE: Refunded = { until: NO_END, ends: 0, ticks: NOTHING }

/** The take that is refunded, for the step. An unknown part of a microsecond is rounded down. */
function refundOf({ scale, schedule }: BucketQuota, burst: Exact, of: BucketTaken): Refunded {
  const inScale = (exact: Exact): Exact => ofScale(exact, of, scale)
  const [base, tat] = [inScale(exactIn(of, 'base')), inScale(exactIn(of, 'tat'))]
  const ticks = exactly(tat.tick - base.tick, tat.early - base.early, scale)
  const now = { tick: tickOf(of.now, schedule), early: 0 }
  const turn = latest(now, exactly(tat.tick - burst.tick, tat.early - burst.early, scale))
  const share = earliest(ticks, burst)
  const ends = exactly(turn.tick + share.tick, turn.early + share.early, scale)
  return { until: inScale(grossOf(of)), ends: ends.early === 0 ? ends.tick : ends.tick - 1, ticks }
}

/** A number of a result. One of another scale is rounded down to a whole microsecond. */
const ofScale = (exact: Exact, { early }: BucketTaken, scale: number): Exact =>
  exact.early === 0 || early?.scale === scale ? exact : { tick: exact.tick - 1, early: 0 }

/** How far ahead of now a take may end: the size of the bucket. In a queue, the wait shortens it. */
function toleranceOf(
  { limit, immediateUnits, ticksPerUnit, scale }: BucketQuota,
  maxWaitMicros: Micros | undefined,
): Exact {
  const whole = spanOf(limit, ticksPerUnit, scale)
  if (maxWaitMicros === undefined) return whole
  const { tick, early } = spanOf(immediateUnits, ticksPerUnit, scale)
  return earliest({ tick: tick + maxWaitMicros, early }, whole)
}
