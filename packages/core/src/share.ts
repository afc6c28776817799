import type { Start } from './kernels/start.ts'
import { checkOptions } from './options.ts'
import {
  type BucketQuota,
  bucketQuota,
  checkWhole,
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
  const startIn = (unit: number): Start | null => {
    if (whole === null) return null
    const initial = Math.floor((quota.limit - whole.lacking / quota.unit) / replicas)
    return Object.freeze({ ...whole, lacking: (limit - initial) * unit })
  }
  if (grain === null) {
    const unit = quota.unit * replicas
    return bucketQuota('shareOf', { ...counts, window: limit * unit, unit, grain, start: startIn(unit) })
  }
  const { amount, every } = split(grain.amount, grain.every, replicas)
  const window = Math.ceil(limit / amount) * every
  return bucketQuota('shareOf', {
    ...counts,
    window,
    start: startIn(1),
    ...grained('shareOf', { amount, every, shift: grain.shift }),
  })
}

/** Whole units at a time: fewer in the same time or, of less than one for each, one in a longer time. */
function split(amount: number, every: Micros, replicas: number): { amount: number; every: Micros } {
  if (amount >= replicas) return { amount: Math.floor(amount / replicas), every }
  return { amount: 1, every: every * Math.ceil(replicas / amount) }
}
