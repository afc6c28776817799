import { areWhole, isWhole } from '../../common/options.ts'
import { LONGEST } from '../../common/time.ts'
import type { QuotaChecks } from '../algorithm.ts'
import type { SlidingLogQuota } from '../quota-types.ts'

/** The longest log of a key: each request reads it whole. */
export const LONGEST_LOG = 10_000

export const logChecks: QuotaChecks<SlidingLogQuota> = {
  isComplete: ({ limit, window }) => isWhole(limit, 0) && areWhole(window),
  agree: ({ limit, window }) => limit <= LONGEST_LOG && window <= LONGEST,
}
