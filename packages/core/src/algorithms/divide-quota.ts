import { checkOptions } from '../common/guess.ts'
import { checkCount } from '../common/options.ts'
import { checkQuota, shareOfQuota } from './algorithm.ts'
import type { Quota } from './quota-types.ts'

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
  return shareOfQuota(quota, checkCount('divideQuota replicas', options.replicas, 1))
}
