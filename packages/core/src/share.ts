import { commonDivisor, MOST_SCALE, spanOf, unitsIn } from './kernels/fraction.ts'
import type { Start } from './kernels/start.ts'
import { checkOptions } from './options.ts'
import {
  type BucketQuota,
  bucketQuota,
  checkWhole,
  continuous,
  fixedWindow,
  grained,
  type Quota,
  slidingLog,
  slidingWindow,
} from './quota.ts'
import type { Micros } from './time.ts'

/** Among whom a quota is shared. */
export interface ShareOptions {
  /** How many processes count separately: a whole number, 1 or more. */
  readonly replicas: number
}

/**
 * The share of a quota for one of several processes that count each for itself, as where the store they share is away:
 * `shareOf(perMinute(300), { replicas: 4 })` is 75 a minute. Together their rate is the quota's at most. A burst of
 * fewer units than there are processes is one unit for each.
 */
export function shareOf(quota: Quota, options: ShareOptions): Quota {
  checkOptions('shareOf', options, ['replicas'])
  const replicas = checkWhole('shareOf replicas', options.replicas, 1)
  if (quota.kernel === 'bucket') return bucketShare(quota, replicas)
  const { amount, every } = split(quota.limit, quota.window, replicas)
  const window = { limit: amount, window: every / 1000 }
  if (quota.kernel === 'sliding-log') return slidingLog(window)
  return quota.fixed ? fixedWindow({ ...window, align: 'first' }) : slidingWindow(window)
}

function bucketShare({ grain, start: whole, ...quota }: BucketQuota, replicas: number): BucketQuota {
  const part = (units: number): number => Math.max(1, Math.floor(units / replicas))
  const limit = part(quota.limit)
  const counts = { limit, prompt: part(quota.prompt), overdraft: Math.floor(quota.overdraft / replicas) }
  const startIn = ({ unit, scale }: Pick<BucketQuota, 'unit' | 'scale'>): Start | null => {
    if (whole === null) return null
    const lacking = unitsIn({ tick: whole.lacking, early: whole.early }, quota.unit, quota.scale)
    const { tick, early } = spanOf(limit - Math.floor((quota.limit - lacking) / replicas), unit, scale)
    return Object.freeze({ ...whole, lacking: tick, early })
  }
  if (grain === null) {
    const ticks = slower(quota, replicas)
    return continuous('shareOf', { ...counts, start: startIn(ticks), ...ticks })
  }
  const { amount, every } = split(grain.amount, grain.every, replicas)
  const window = Math.ceil(limit / amount) * every
  return bucketQuota('shareOf', {
    ...counts,
    window,
    start: startIn({ unit: 1, scale: 1 }),
    ...grained('shareOf', { amount, every, shift: grain.shift }, amount),
  })
}

/** A unit takes so many times as long. Beyond what is counted exactly it takes a little longer. */
function slower(
  { unit, scale }: Pick<BucketQuota, 'unit' | 'scale'>,
  times: number,
): Pick<BucketQuota, 'unit' | 'scale'> {
  const divisor = commonDivisor(scale, times)
  let [longer, parts] = [unit * (times / divisor), scale / divisor]
  for (; longer > MOST_SCALE && parts > 1; parts = Math.floor(parts / 2)) longer = Math.ceil(longer / 2) + 1
  return { unit: longer, scale: parts }
}

/** Whole units at a time: fewer in the same time or, of less than one for each, one in a longer time. */
function split(amount: number, every: Micros, replicas: number): { amount: number; every: Micros } {
  if (amount >= replicas) return { amount: Math.floor(amount / replicas), every }
  return { amount: 1, every: every * Math.ceil(replicas / amount) }
}
