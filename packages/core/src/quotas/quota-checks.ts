import { LONGEST } from '../common/time.ts'
import { spanOf } from '../kernels/fraction.ts'
import { LONGEST_WARM_UP } from '../kernels/warm-up.ts'
import { isBlockList } from './block-list.ts'
import { areWhole, isWhole, type QuotaChecks } from './bucket-checks.ts'
import type { PenaltyQuota, SlidingLogQuota, SlidingWindowQuota, WarmUpQuota } from './quota-types.ts'

/** The longest log of a key: each request reads it whole. */
export const LONGEST_LOG = 10_000

/** The most units before a block, which must be far fewer than those of a block set by hand. */
export const MOST_AFTER = 1e9

/** The fastest growth of blocks. */
export const MOST_GROWTH = 1e3

/** The most units times ticks of which shares of a window are exact. */
export const MOST_SHARES: number = 2 ** 50

export const windowChecks: QuotaChecks<SlidingWindowQuota> = {
  // A copy of plain data loses the methods of a calendar.
  isComplete: ({ limit, window, tick, calendar }) =>
    isWhole(limit, 0) && areWhole(window, tick) && (calendar === null || typeof calendar?.windowAt === 'function'),
  agree({ limit, window, tick, fixed, calendar, offset }) {
    if (typeof fixed !== 'boolean' || window > LONGEST) return false
    if (offset !== null && !(fixed && isWhole(offset, 0) && offset < window && calendar === null)) return false
    return calendar === null ? window % tick === 0 && limit * (window / tick) <= MOST_SHARES : fixed && tick === window
  },
}

export const logChecks: QuotaChecks<SlidingLogQuota> = {
  isComplete: ({ limit, window }) => isWhole(limit, 0) && areWhole(window),
  agree: ({ limit, window }) => limit <= LONGEST_LOG && window <= LONGEST,
}

export const warmUpChecks: QuotaChecks<WarmUpQuota> = {
  isComplete: ({ limit, burst, window, ticksPerUnit, scale, half }) =>
    areWhole(limit, burst, window, ticksPerUnit, scale, half),
  agree: ({ limit, burst, window, ticksPerUnit, scale, half }) =>
    limit === 1 &&
    burst <= (LONGEST * scale) / ticksPerUnit &&
    window === spanOf(1, ticksPerUnit, scale).tick &&
    2 * half <= LONGEST_WARM_UP + 1,
}

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
