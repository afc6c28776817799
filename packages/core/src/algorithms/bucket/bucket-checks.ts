import { areWhole, isWhole } from '../../common/options.ts'
import { LONGEST } from '../../common/time.ts'
import { spanOf } from '../../kernels/fraction.ts'
import type { QuotaChecks } from '../algorithm.ts'
import type { BucketQuota } from '../quota-types.ts'

/** Of a bucket that refills continuously, and that starts full. */
export const continuousChecks: QuotaChecks<BucketQuota> = {
  isComplete: (quota) => hasNumbers(quota) && quota.schedule === null && quota.start === null,
  agree: (quota) => (quota.limit === 0 ? quota.immediateUnits === 0 && quota.overdraft === 0 : isContinuous(quota)),
}

/** Of a bucket that refills continuously. */
export const bucketChecks: QuotaChecks<BucketQuota> = {
  isComplete: (quota) => hasNumbers(quota) && quota.schedule === null && quota.start !== undefined,
  agree: (quota) =>
    quota.limit === 0 ? quota.start === null && continuousChecks.agree(quota) : isStart(quota) && isContinuous(quota),
}

/** Of any bucket. */
export const scheduledChecks: QuotaChecks<BucketQuota> = {
  isComplete: (quota) => hasNumbers(quota) && quota.schedule !== undefined && quota.start !== undefined,
  agree(quota) {
    const { limit, overdraft, schedule, window, ticksPerUnit, scale } = quota
    if (schedule === null) return bucketChecks.agree(quota)
    const { interval, amount, tick, offset } = schedule
    return (
      limit > 0 &&
      isStart(quota) &&
      hasUnits(quota) &&
      areWhole(interval, amount, tick) &&
      isWhole(offset, 0) &&
      ticksPerUnit === 1 &&
      scale === 1 &&
      tick === Math.floor(interval / amount) &&
      window === Math.ceil(limit / amount) * interval &&
      Math.max(window, (limit + overdraft) * tick) <= LONGEST
    )
  },
}

const hasNumbers = ({ limit, immediateUnits, window, ticksPerUnit, scale }: BucketQuota): boolean =>
  areWhole(window, ticksPerUnit, scale) && isWhole(limit, 0) && isWhole(immediateUnits, 0)

const hasUnits = ({ limit, immediateUnits, overdraft }: BucketQuota): boolean =>
  isWhole(overdraft, 0) && (immediateUnits === 1 || immediateUnits === limit)

/** Reports whether the numbers of a bucket with units, which refills continuously, belong together. */
const isContinuous = (quota: BucketQuota): boolean => {
  const { limit, overdraft, window, ticksPerUnit, scale } = quota
  return (
    hasUnits(quota) &&
    window === spanOf(limit, ticksPerUnit, scale).tick &&
    ((limit + overdraft) * ticksPerUnit) / scale <= LONGEST
  )
}

function isStart({ start, limit, ticksPerUnit, scale }: BucketQuota): boolean {
  if (start === null) return true
  const { lacking, early, keep } = start
  const isLacking = isWhole(lacking, 0) && lacking <= spanOf(limit, ticksPerUnit, scale).tick
  return isLacking && isWhole(early, 0) && early < scale && isWhole(keep, 1)
}
