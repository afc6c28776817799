import { areWhole, isWhole } from '../../common/options.ts'
import { LONGEST } from '../../common/time.ts'
import type { QuotaChecks } from '../algorithm.ts'
import type { SlidingWindowQuota } from '../quota-types.ts'

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
