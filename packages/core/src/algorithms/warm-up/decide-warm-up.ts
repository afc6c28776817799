import { LONGEST } from '../../common/time.ts'
import type { WarmUpStep, WarmUpTaken } from '../../kernels/warm-up.ts'
import type { Decide } from '../decision.ts'
import { allow, deny } from '../decision-of.ts'
import type { WarmUpQuota } from '../quota-types.ts'

/** A key allows one unit when its turn has come, however cold it is. */
export const decideWarmUp =
  (policy: string, { limit, burst }: WarmUpQuota, cost: number, step: WarmUpStep): Decide<WarmUpTaken> =>
  ({ allowed, aheadBefore, ahead }) => {
    const left = ahead === 0 ? 1 : 0
    if (allowed) return allow(policy, limit, left, cost, ahead, ahead, step.tolerance === LONGEST ? 0 : aheadBefore)
    return deny(policy, limit, left, cost, ahead, ahead, cost > burst ? Infinity : aheadBefore)
  }
