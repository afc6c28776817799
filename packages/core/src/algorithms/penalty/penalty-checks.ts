import { areWhole, isWhole } from '../../common/options.ts'
import type { QuotaChecks } from '../algorithm.ts'
import type { PenaltyQuota } from '../quota-types.ts'
import { isBlockList } from './block-list.ts'

/** The most units before a block, which must be far fewer than those of a block set by hand. */
export const MOST_AFTER = 1e9

/** The fastest growth of blocks. */
export const MOST_GROWTH = 1e3

export const penaltyChecks: QuotaChecks<PenaltyQuota> = {
  // A block list has no length of its own.
  isComplete: ({ limit, window, grow, block, max }) => areWhole(limit, window, grow) && block >= 0 && max >= 0,
  agree: (quota) =>
    isBlockList(quota) ||
    (quota.limit <= MOST_AFTER &&
      quota.grow <= MOST_GROWTH &&
      isWhole(quota.block, 1) &&
      isWhole(quota.max, quota.block) &&
      (quota.grow === 1 ? quota.forgive === 0 && quota.max === quota.block : isWhole(quota.forgive, 1)) &&
      typeof quota.extend === 'boolean'),
}
