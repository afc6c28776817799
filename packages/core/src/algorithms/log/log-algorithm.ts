import { formatValue, QuotaError } from '../../common/errors.ts'
import { logKernel } from '../../kernels/kernels.ts'
import type { SlidingLogStep, SlidingLogTaken } from '../../kernels/sliding-log.ts'
import type { Algorithm } from '../algorithm.ts'
import type { SlidingLogQuota } from '../quota-types.ts'
import { splitWindow } from '../shares.ts'
import { decideLog } from './decide-log.ts'
import { logChecks } from './log-checks.ts'
import { logQuota } from './log-quota.ts'
import { logStep } from './log-step.ts'
import { logTake } from './log-take.ts'

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
