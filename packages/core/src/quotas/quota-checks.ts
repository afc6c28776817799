import { formatValue, QuotaError } from '../common/errors.ts'
import { LONGEST } from '../common/time.ts'
import { spanOf } from '../kernels/fraction.ts'
import type { Start } from '../kernels/start.ts'
import { LONGEST_WARM_UP } from '../kernels/warm-up.ts'
import { isBlockList } from './block-list.ts'
import type { BucketQuota, PenaltyQuota, Quota, SlidingWindowQuota, WarmUpQuota } from './quota-types.ts'

/** The longest log of a key: each request reads it whole. */
export const LONGEST_LOG = 10_000

/** The most units before a block, which must be far fewer than those of a block set by hand. */
export const MOST_AFTER = 1e9

/** The fastest growth of blocks. */
export const MOST_GROWTH = 1e3

/** The most units times ticks of which shares of a window are exact. */
export const MOST_SHARES: number = 2 ** 50

/** The numbers of a quota that are 1 or more. */
const NUMBERS: Readonly<Record<Quota['kernel'], readonly string[]>> = {
  bucket: ['limit', 'immediateUnits', 'window', 'ticksPerUnit', 'scale'],
  'sliding-window': ['limit', 'window', 'tick'],
  'sliding-log': ['limit', 'window'],
  'warm-up': ['limit', 'burst', 'window', 'ticksPerUnit', 'scale', 'half'],
  penalty: ['limit', 'window', 'grow'],
}

/** Throws a QuotaError if a value is no quota; `what` names the option or argument in the error. */
export function checkQuota(what: string, value: unknown): void {
  const isComplete = hasNumbers(value)
  if (isComplete && agree(value)) return
  const got = isComplete
    ? `a quota that was changed after it was built: the numbers of this ${value.kernel}, with limit ${value.limit} and window ${value.window}, do not agree. Build another one instead`
    : formatValue(value)
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what} must be built by perMinute(100) or one of its siblings; got ${got}.`,
  )
}

/** Reports whether a value has the numbers of a quota: without one of them it might never deny. */
function hasNumbers(value: unknown): value is Quota {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(NUMBERS, (value as Quota).kernel)) return false
  const quota = value as Quota
  const numbers = NUMBERS[quota.kernel].map((name) => quota[name as keyof Quota] as unknown)
  if (!numbers.every((each) => isWhole(each, 1))) return false
  // A block list has no length of its own.
  if (quota.kernel === 'penalty') return quota.block >= 0 && quota.max >= 0
  if (quota.kernel === 'bucket') return quota.schedule !== undefined && quota.start !== undefined
  // A copy of plain data loses the methods of a calendar.
  return quota.kernel !== 'sliding-window' || quota.calendar === null || typeof quota.calendar?.windowAt === 'function'
}

/**
 * Reports whether the numbers of a quota belong together. Some of them follow from others: a bucket whose `limit` is raised
 * by hand would queue the units in addition, without a word.
 */
function agree(quota: Quota): boolean {
  switch (quota.kernel) {
    case 'bucket':
      return isBucket(quota)
    case 'sliding-window':
      return isWindow(quota)
    case 'sliding-log':
      return quota.limit <= LONGEST_LOG && quota.window <= LONGEST
    case 'warm-up':
      return isWarmUp(quota)
    case 'penalty':
      return isPenalty(quota)
  }
}

function isBucket({ limit, immediateUnits, overdraft, start, ...quota }: BucketQuota): boolean {
  const { schedule, window, ticksPerUnit, scale } = quota
  if (!isWhole(overdraft, 0) || (immediateUnits !== 1 && immediateUnits !== limit)) return false
  const full = spanOf(limit, ticksPerUnit, scale)
  if (start !== null && !isStart(start, full.tick, scale)) return false
  if (schedule === null) return window === full.tick && ((limit + overdraft) * ticksPerUnit) / scale <= LONGEST
  const { interval, amount, tick, offset } = schedule
  return (
    [interval, amount, tick].every((each) => isWhole(each, 1)) &&
    isWhole(offset, 0) &&
    ticksPerUnit === 1 &&
    scale === 1 &&
    tick === Math.floor(interval / amount) &&
    window === Math.ceil(limit / amount) * interval &&
    Math.max(window, (limit + overdraft) * tick) <= LONGEST
  )
}

const isStart = ({ lacking, early, keep }: Start, full: number, scale: number): boolean =>
  isWhole(lacking, 0) && lacking <= full && isWhole(early, 0) && early < scale && isWhole(keep, 1)

function isWindow({ limit, window, tick, fixed, calendar }: SlidingWindowQuota): boolean {
  if (typeof fixed !== 'boolean' || window > LONGEST) return false
  return calendar === null ? window % tick === 0 && limit * (window / tick) <= MOST_SHARES : fixed && tick === window
}

const isWarmUp = ({ limit, burst, window, ticksPerUnit, scale, half }: WarmUpQuota): boolean =>
  limit === 1 &&
  burst <= (LONGEST * scale) / ticksPerUnit &&
  window === spanOf(1, ticksPerUnit, scale).tick &&
  2 * half <= LONGEST_WARM_UP + 1

const isPenalty = (quota: PenaltyQuota): boolean =>
  isBlockList(quota) ||
  (quota.limit <= MOST_AFTER &&
    quota.grow <= MOST_GROWTH &&
    isWhole(quota.block, 1) &&
    isWhole(quota.max, quota.block) &&
    (quota.grow === 1 ? quota.forgive === 0 && quota.max === quota.block : isWhole(quota.forgive, 1)) &&
    typeof quota.extend === 'boolean')

const isWhole = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && (value as number) >= least
