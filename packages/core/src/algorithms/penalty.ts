import { decidePenalty } from '../decisions/decide.ts'
import { penaltyKernel } from '../kernels/kernels.ts'
import type { PenaltyStep, PenaltyTaken } from '../kernels/penalty.ts'
import { isBlockList } from '../quotas/block-list.ts'
import { penaltyChecks } from '../quotas/quota-checks.ts'
import type { PenaltyQuota } from '../quotas/quota-types.ts'
import { penaltyStep } from '../steps/penalty-step.ts'
import type { Algorithm } from './algorithm.ts'
import { shareOf } from './shares.ts'

/** The units of a window, and the block that they start. */
export const penaltyAlgorithm: Algorithm<PenaltyQuota, PenaltyStep, PenaltyTaken> = {
  kernel: penaltyKernel,
  checks: penaltyChecks,
  stepFor: penaltyStep,
  decider: decidePenalty,
  divide: (quota, replicas) =>
    isBlockList(quota) ? quota : Object.freeze({ ...quota, limit: shareOf(quota.limit, replicas) }),
}
