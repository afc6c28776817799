import { decideWarmUp } from '../decisions/decide.ts'
import { warmUpKernel } from '../kernels/kernels.ts'
import type { WarmUpStep, WarmUpTaken } from '../kernels/warm-up.ts'
import { warmUpChecks } from '../quotas/quota-checks.ts'
import type { WarmUpQuota } from '../quotas/quota-types.ts'
import { warmUpQuota } from '../quotas/warm-up-quota.ts'
import { warmUpStep } from '../steps/warm-up-step.ts'
import type { Algorithm } from './algorithm.ts'
import { shareOf, slowedBy } from './shares.ts'

/** A rate that rises while a key is used. */
export const warmUpAlgorithm: Algorithm<WarmUpQuota, WarmUpStep, WarmUpTaken> = {
  kernel: warmUpKernel,
  checks: warmUpChecks,
  stepFor: warmUpStep,
  decider: decideWarmUp,
  divide: ({ burst, half, ...quota }, replicas) =>
    warmUpQuota('divideQuota', { burst: shareOf(burst, replicas), half, ...slowedBy(replicas, quota) }),
}
