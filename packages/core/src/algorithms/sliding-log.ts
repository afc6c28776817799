import { decideLog } from '../decisions/decide.ts'
import { logKernel } from '../kernels/kernels.ts'
import type { SlidingLogStep, SlidingLogTaken } from '../kernels/sliding-log.ts'
import { logQuota } from '../quotas/log-quota.ts'
import { logChecks } from '../quotas/quota-checks.ts'
import type { SlidingLogQuota } from '../quotas/quota-types.ts'
import { logStep } from '../steps/log-step.ts'
import type { Algorithm } from './algorithm.ts'
import { splitWindow } from './shares.ts'

/** The calls of the last window. */
export const logAlgorithm: Algorithm<SlidingLogQuota, SlidingLogStep, SlidingLogTaken> = {
  kernel: logKernel,
  checks: logChecks,
  stepFor: logStep,
  decider: decideLog,
  divide: (quota, replicas) => logQuota('divideQuota', splitWindow(quota, replicas)),
}
