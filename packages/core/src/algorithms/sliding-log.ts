import { formatValue, QuotaError } from '../common/errors.ts'
import { decideLog } from '../decisions/decide.ts'
import { logKernel } from '../kernels/kernels.ts'
import type { SlidingLogStep, SlidingLogTaken } from '../kernels/sliding-log.ts'
import { logQuota } from '../quotas/log-quota.ts'
import { logChecks } from '../quotas/quota-checks.ts'
import type { SlidingLogQuota } from '../quotas/quota-types.ts'
import { logStep } from '../steps/log-step.ts'
import type { Algorithm } from './algorithm.ts'
import { splitWindow } from './shares.ts'
import { logTake } from './takes/log-take.ts'

/** The calls of the last window. */
export const logAlgorithm: Algorithm<SlidingLogQuota, SlidingLogStep, SlidingLogTaken> = {
  kernel: logKernel,
  checks: logChecks,
  stepFor: logStep,
  decider: decideLog,
  checkSize,
  take: logTake,
  divide: (quota, replicas) => logQuota('divideQuota', splitWindow(quota, replicas)),
}

function checkSize(policy: string, { limit }: SlidingLogQuota, maxLogLimit: number = Infinity): void {
  if (limit <= maxLogLimit) return
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `policy ${formatValue(policy)}: this store keeps sliding logs of up to ${maxLogLimit} entries, since a take reads and writes the whole log; got a limit of ${limit}. Use slidingWindow or tokenBucket, or memoryStore().`,
  )
}
