import { checkOptions, checkWhole } from '../common/options.ts'
import type { Micros } from '../common/time.ts'
import { commonDivisor, MOST_SCALE, unitsIn } from '../kernels/fraction.ts'
import type { Start } from '../kernels/start.ts'
import { isBlockList } from './block-list.ts'
import { bucketQuota, continuous, scheduled, startLacking } from './bucket-quota.ts'
import { fixedWindow, slidingLog, slidingWindow, warmUpQuota } from './quota.ts'
import { checkQuota } from './quota-checks.ts'
import type { BucketQuota, Quota } from './quota-types.ts'

/** Options of `divideQuota`. */
export interface DivideQuotaOptions {
  /** How many processes count separately: a whole number, 1 or more. */
  readonly replicas: number
}

/**
 * Returns the share of a quota for one of several processes that count separately, as when their shared store fails:
 * `divideQuota(perMinute(300), { replicas: 4 })` is 75 a minute. Together their rate is at most the quota's. If the burst is
 * smaller than the number of processes, each gets a burst of one unit; of a calendar's period or a penalty, too.
 *
 * Throws a `QuotaError` if the quota or `replicas` is invalid.
 */
export function divideQuota(quota: Quota, options: DivideQuotaOptions): Quota {
  checkQuota('the quota of divideQuota', quota)
  checkOptions('divideQuota', options, ['replicas'])
  const replicas = checkWhole('divideQuota replicas', options.replicas, 1)
  if (quota.kernel === 'bucket') return divideBucket(quota, replicas)
  if (quota.kernel === 'warm-up') {
    const burst = Math.max(1, Math.floor(quota.burst / replicas))
    return warmUpQuota('divideQuota', { burst, half: quota.half, ...slower(quota, replicas) })
  }
  if (isBlockList(quota)) return quota
  if (quota.kernel === 'penalty' || (quota.kernel === 'sliding-window' && quota.calendar !== null)) {
    return Object.freeze({ ...quota, limit: Math.max(1, Math.floor(quota.limit / replicas)) })
  }
  const { amount, interval } = split(quota.limit, quota.window, replicas)
  const window = { limit: amount, window: interval / 1000 }
  if (quota.kernel === 'sliding-log') return slidingLog(window)
  return quota.fixed ? fixedWindow({ ...window, align: 'first' }) : slidingWindow(window)
}

function divideBucket({ schedule, start: whole, ...quota }: BucketQuota, replicas: number): BucketQuota {
  const part = (units: number): number => Math.max(1, Math.floor(units / replicas))
  const limit = part(quota.limit)
  const counts = {
    limit,
    immediateUnits: part(quota.immediateUnits),
    overdraft: Math.floor(quota.overdraft / replicas),
  }
  const startIn = (ticks: Pick<BucketQuota, 'ticksPerUnit' | 'scale'>): Start | null => {
    if (whole === null) return null
    const lacking = unitsIn(whole.lacking, whole.early, quota.ticksPerUnit, quota.scale)
    return startLacking(limit - Math.floor((quota.limit - lacking) / replicas), ticks, whole.keep)
  }
  if (schedule === null) {
    const ticks = slower(quota, replicas)
    return continuous('divideQuota', { ...counts, start: startIn(ticks), ...ticks })
  }
  const { amount, interval } = split(schedule.amount, schedule.interval, replicas)
  const window = Math.ceil(limit / amount) * interval
  return bucketQuota('divideQuota', {
    ...counts,
    window,
    start: startIn({ ticksPerUnit: 1, scale: 1 }),
    ...scheduled('divideQuota', { amount, interval, offset: schedule.offset }, amount),
  })
}

/** Multiplies the time of a unit. It is rounded up if the product cannot be counted exactly. */
function slower(
  { ticksPerUnit: unit, scale }: Pick<BucketQuota, 'ticksPerUnit' | 'scale'>,
  times: number,
): Pick<BucketQuota, 'ticksPerUnit' | 'scale'> {
  const divisor = commonDivisor(scale, times)
  let [longer, parts] = [unit * (times / divisor), scale / divisor]
  for (; longer > MOST_SCALE && parts > 1; parts = Math.floor(parts / 2)) longer = Math.ceil(longer / 2) + 1
  return { ticksPerUnit: longer, scale: parts }
}

/** Fewer units in the same interval or, if that is less than one for each process, one unit in a longer interval. */
function split(amount: number, interval: Micros, replicas: number): { amount: number; interval: Micros } {
  if (amount >= replicas) return { amount: Math.floor(amount / replicas), interval }
  return { amount: 1, interval: interval * Math.ceil(replicas / amount) }
}
