import { areWhole, isWhole } from '../../common/options.ts'
import { LONGEST } from '../../common/time.ts'
import type { QuotaChecks } from '../algorithm.ts'
import type { SlotsQuota } from '../quota-types.ts'

/** The most slots of a key: each request reads them all. */
export const MOST_SLOTS = 10_000

export const slotsChecks: QuotaChecks<SlotsQuota> = {
  isComplete: ({ limit, window }) => isWhole(limit, 0) && areWhole(window),
  agree: ({ limit, window }) => limit <= MOST_SLOTS && window <= LONGEST,
}
