import { unitsIn } from '../../kernels/fraction.ts'
import type { RefillSchedule } from '../../kernels/refill-schedule.ts'
import type { Start } from '../../kernels/start.ts'
import type { BucketQuota } from '../quota-types.ts'
import { shareOf, slowedBy, split } from '../shares.ts'
import { bucketQuota, continuous, scheduled, startLacking } from './bucket-quota.ts'

type Ticks = Pick<BucketQuota, 'ticksPerUnit' | 'scale'>

/** The share of one of several processes, of a bucket that refills continuously. */
export function divideBucket(quota: BucketQuota, replicas: number): BucketQuota {
  const ticks = slowedBy(replicas, quota)
  return continuous('divideQuota', { ...countsOf(quota, replicas), start: startOf(quota, replicas, ticks), ...ticks })
}

/** The same, of one that refills at intervals. */
export function divideSchedule(quota: BucketQuota, replicas: number, schedule: RefillSchedule): BucketQuota {
  const counts = countsOf(quota, replicas)
  const { amount, interval } = split(schedule.amount, schedule.interval, replicas)
  return bucketQuota('divideQuota', {
    ...counts,
    window: Math.ceil(counts.limit / amount) * interval,
    start: startOf(quota, replicas, { ticksPerUnit: 1, scale: 1 }),
    ...scheduled({ amount, interval, offset: schedule.offset }),
  })
}

const countsOf = (
  { limit, immediateUnits, overdraft }: BucketQuota,
  replicas: number,
): Pick<BucketQuota, 'limit' | 'immediateUnits' | 'overdraft'> => ({
  limit: shareOf(limit, replicas),
  immediateUnits: shareOf(immediateUnits, replicas),
  overdraft: Math.floor(overdraft / replicas),
})

function startOf(quota: BucketQuota, replicas: number, ticks: Ticks): Start | null {
  const { limit, start } = quota
  if (start === null) return null
  const lacking = unitsIn(start.lacking, start.early, quota.ticksPerUnit, quota.scale)
  return startLacking(shareOf(limit, replicas) - Math.floor((limit - lacking) / replicas), ticks, start.keep)
}
