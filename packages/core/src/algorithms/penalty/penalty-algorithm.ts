import { penaltyKernel } from '../../kernels/kernels.ts'
import type { PenaltyStep, PenaltyTaken } from '../../kernels/penalty.ts'
import type { Algorithm } from '../algorithm.ts'
import type { PenaltyQuota } from '../quota-types.ts'
import { shareOf } from '../shares.ts'
import { isBlockList } from './block-list.ts'
import { decidePenalty } from './decide-penalty.ts'
import { penaltyChecks } from './penalty-checks.ts'
import { penaltyStep } from './penalty-step.ts'

/** The units of a window, and the block that they start. */
export const penaltyAlgorithm: Algorithm<PenaltyQuota, PenaltyStep, PenaltyTaken> = {
  kernel: penaltyKernel,
  checks: penaltyChecks,
  stepFor: penaltyStep,
  decider: decidePenalty,
  divide: (quota, replicas) =>
    isBlockList(quota) ? quota : Object.freeze({ ...quota, limit: shareOf(quota.limit, replicas) }),
}
