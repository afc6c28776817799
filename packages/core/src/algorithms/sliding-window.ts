import { decideCalendar } from '../decisions/decide.ts'
import { decideWindow } from '../decisions/decide-window.ts'
import { windowKernel } from '../kernels/kernels.ts'
import type { SlidingWindowStep, SlidingWindowTaken } from '../kernels/sliding-window.ts'
import { windowChecks } from '../quotas/quota-checks.ts'
import type { SlidingWindowQuota } from '../quotas/quota-types.ts'
import { fixedQuota, slidingQuota } from '../quotas/window-quota.ts'
import { windowStep } from '../steps/window-step.ts'
import type { Algorithm } from './algorithm.ts'
import { shareOf, splitWindow } from './shares.ts'
import { windowTake } from './takes/window-take.ts'

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
