import { LONGEST, type Micros } from '../../common/time.ts'
import type { BucketStep } from '../../kernels/bucket-types.ts'
import { type Exact, type Fraction, spanOf } from '../../kernels/fraction.ts'
import type { BucketQuota } from '../quota-types.ts'

/** The end of no take. */
export const NO_END: Exact = { tick: Number.MAX_SAFE_INTEGER, early: 0 }

/** The step that consumes units of a bucket. */
export function consumeBucket(quota: BucketQuota, cost: number): BucketStep {
  const { ticksPerUnit, scale, limit, immediateUnits, overdraft } = quota
  const span = (units: number): Exact => spanOf(units, ticksPerUnit, scale)
  const check = span(Math.max(cost - overdraft, 0))
  return stepOf(quota, span(cost), check, span(limit), span(immediateUnits), 0, NO_END, 0, false, false)
}

/** A step of a bucket. */
export function stepOf(
  quota: BucketQuota,
  increment: Exact,
  check: Exact,
  tolerance: Exact,
  burst: Exact,
  maxWaitMicros: Micros,
  until: Exact,
  ends: number,
  whole: boolean,
  peek: boolean,
): BucketStep {
  const { ticksPerUnit, scale, schedule, limit, overdraft, start } = quota
  return {
    kernel: 'bucket',
    increment: increment.tick,
    check: check.tick,
    tolerance: tolerance.tick,
    // Without units, states are kept as they are, for a quota with units.
    ceiling: limit === 0 ? LONGEST : spanOf(limit + overdraft, ticksPerUnit, scale).tick,
    burst: burst.tick,
    maxWaitMicros,
    until: until.tick,
    ends,
    whole,
    schedule,
    start,
    fraction: scale === 1 ? null : fractionOf(scale, increment, check, tolerance, burst, until),
    peek,
  }
}

const fractionOf = (
  scale: number,
  increment: Exact,
  check: Exact,
  tolerance: Exact,
  burst: Exact,
  until: Exact,
): Fraction =>
  Object.freeze({
    scale,
    increment: increment.early,
    check: check.early,
    tolerance: tolerance.early,
    burst: burst.early,
    until: until.early,
  })
