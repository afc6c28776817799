import { LONGEST } from '../common/time.ts'
import { spanOf } from '../kernels/fraction.ts'
import type { Start } from '../kernels/start.ts'
import { LONGEST_WARM_UP } from '../kernels/warm-up.ts'
import { isBlockList } from './block-list.ts'
import type {
  BucketQuota,
  PenaltyQuota,
  Quota,
  SlidingLogQuota,
  SlidingWindowQuota,
  WarmUpQuota,
} from './quota-types.ts'

/** The longest log of a key: each request reads it whole. */
export const LONGEST_LOG = 10_000

/** The most units before a block, which must be far fewer than those of a block set by hand. */
export const MOST_AFTER = 1e9

/** The fastest growth of blocks. */
export const MOST_GROWTH = 1e3

/** The most units times ticks of which shares of a window are exact. */
export const MOST_SHARES: number = 2 ** 50

/** How a quota is checked that may have been changed, or built by something else. */
export interface QuotaChecks<Q extends Quota = Quota> {
  /** Reports whether all parts are there: without a number, a quota might never deny. */
  isComplete(quota: Q): boolean
  /**
   * Reports whether the numbers of a complete quota belong together. Some of them follow from others: a bucket whose
   * `limit` is raised by hand would queue the units in addition, without a word.
   */
  agree(quota: Q): boolean
}

export const bucketChecks: QuotaChecks<BucketQuota> = {
  isComplete: ({ limit, immediateUnits, window, ticksPerUnit, scale, schedule, start }) =>
    areWhole(window, ticksPerUnit, scale) &&
    isWhole(limit, 0) &&
    isWhole(immediateUnits, 0) &&
    schedule !== undefined &&
    start !== undefined,
  agree({ limit, immediateUnits, overdraft, start, ...quota }) {
    const { schedule, window, ticksPerUnit, scale } = quota
    if (limit === 0) return immediateUnits === 0 && overdraft === 0 && schedule === null && start === null
    if (!isWhole(overdraft, 0) || (immediateUnits !== 1 && immediateUnits !== limit)) return false
    const full = spanOf(limit, ticksPerUnit, scale)
    if (start !== null && !isStart(start, full.tick, scale)) return false
    if (schedule === null) return window === full.tick && ((limit + overdraft) * ticksPerUnit) / scale <= LONGEST
    const { interval, amount, tick, offset } = schedule
    return (
      areWhole(interval, amount, tick) &&
      isWhole(offset, 0) &&
      ticksPerUnit === 1 &&
      scale === 1 &&
      tick === Math.floor(interval / amount) &&
      window === Math.ceil(limit / amount) * interval &&
      Math.max(window, (limit + overdraft) * tick) <= LONGEST
    )
  },
}

/** Of a bucket that refills continuously, and that starts full. */
export const continuousChecks: QuotaChecks<BucketQuota> = {
  isComplete: (quota) => bucketChecks.isComplete(quota) && quota.schedule === null && quota.start === null,
  agree: (quota) => bucketChecks.agree(quota),
}

const isStart = ({ lacking, early, keep }: Start, full: number, scale: number): boolean =>
  isWhole(lacking, 0) && lacking <= full && isWhole(early, 0) && early < scale && isWhole(keep, 1)

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

const areWhole = (...values: readonly unknown[]): boolean => values.every((each) => isWhole(each, 1))

const isWhole = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && (value as number) >= least
