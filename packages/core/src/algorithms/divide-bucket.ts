import { unitsIn } from '../kernels/fraction.ts'
import type { Start } from '../kernels/start.ts'
import { bucketQuota, continuous, scheduled, startLacking } from '../quotas/bucket-quota.ts'
import type { BucketQuota } from '../quotas/quota-types.ts'
import { shareOf, slowedBy, split } from './shares.ts'

/** The share of one of several processes. */
export function divideBucket({ schedule, start: whole, ...quota }: BucketQuota, replicas: number): BucketQuota {
  const limit = shareOf(quota.limit, replicas)
  const counts = {
    limit,
    immediateUnits: shareOf(quota.immediateUnits, replicas),
    overdraft: Math.floor(quota.overdraft / replicas),
  }
  const startIn = (ticks: Pick<BucketQuota, 'ticksPerUnit' | 'scale'>): Start | null => {
    if (whole === null) return null
    const lacking = unitsIn(whole.lacking, whole.early, quota.ticksPerUnit, quota.scale)
    return startLacking(limit - Math.floor((quota.limit - lacking) / replicas), ticks, whole.keep)
  }
  if (schedule === null) {
    const ticks = slowedBy(replicas, quota)
    return continuous('divideQuota', { ...counts, start: startIn(ticks), ...ticks })
  }
  const { amount, interval } = split(schedule.amount, schedule.interval, replicas)
  const window = Math.ceil(limit / amount) * interval
  return bucketQuota('divideQuota', {
    ...counts,
    window,
    start: startIn({ ticksPerUnit: 1, scale: 1 }),
    ...scheduled({ amount, interval, offset: schedule.offset }),
  })
}
