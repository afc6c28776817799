import { warmUpKernel } from '../../kernels/kernels.ts'
import type { WarmUpStep, WarmUpTaken } from '../../kernels/warm-up.ts'
import type { Algorithm } from '../algorithm.ts'
import type { WarmUpQuota } from '../quota-types.ts'
import { shareOf, slowedBy } from '../shares.ts'
import { decideWarmUp } from './decide-warm-up.ts'
import { warmUpChecks } from './warm-up-checks.ts'
import { warmUpQuota } from './warm-up-quota.ts'
import { warmUpStep } from './warm-up-step.ts'

/** A rate that rises while a key is used. */
export const warmUpAlgorithm: Algorithm<WarmUpQuota, WarmUpStep, WarmUpTaken> = {
  kernel: warmUpKernel,
  checks: warmUpChecks,
  stepFor: warmUpStep,
  decider: decideWarmUp,
  divide: ({ burst, half, ...quota }, replicas) =>
    warmUpQuota('divideQuota', { burst: shareOf(burst, replicas), half, ...slowedBy(replicas, quota) }),
}
