import { windowKernel } from '../../kernels/kernels.ts'
import type { SlidingWindowStep, SlidingWindowTaken } from '../../kernels/sliding-window.ts'
import type { Algorithm } from '../algorithm.ts'
import type { SlidingWindowQuota } from '../quota-types.ts'
import { shareOf, splitWindow } from '../shares.ts'
import { decideCalendar, decideWindow } from './decide-window.ts'
import { windowChecks } from './window-checks.ts'
import { fixedQuota, slidingQuota } from './window-quota.ts'
import { windowStep } from './window-step.ts'
import { windowTake } from './window-take.ts'

/** The counts of two windows. */
export const windowAlgorithm: Algorithm<SlidingWindowQuota, SlidingWindowStep, SlidingWindowTaken> = {
  kernel: windowKernel,
  checks: windowChecks,
  stepFor: windowStep,
  decider: (policy, quota, cost) => (quota.calendar === null ? decideWindow : decideCalendar)(policy, quota, cost),
  take: windowTake,
  divide(quota, replicas) {
    if (quota.calendar !== null) return Object.freeze({ ...quota, limit: shareOf(quota.limit, replicas) })
    const share = splitWindow(quota, replicas)
    return quota.fixed ? fixedQuota('divideQuota', share, quota.offset) : slidingQuota('divideQuota', share)
  },
}
