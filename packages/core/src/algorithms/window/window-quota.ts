import { formatValue, invalid, QuotaError } from '../../common/errors.ts'
import { checkWhole } from '../../common/options.ts'
import { type Micros, micros } from '../../common/time.ts'
import type { WindowOptions } from '../quota-options.ts'
import type { SlidingWindowQuota } from '../quota-types.ts'
import { MOST_SHARES } from './window-checks.ts'

/** The ticks of a window whose shares are computed: the smallest one in which they are exact. */
const TICKS: readonly Micros[] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6]

/** A window whose previous one counts, too, by the share of it that is still to come. Throws a QuotaError if the options are invalid. */
export function slidingQuota(what: string, options: WindowOptions): SlidingWindowQuota {
  const { limit, window } = checkedOf(what, options)
  const tick = TICKS.find((each) => window % each === 0 && limit * (window / each) <= MOST_SHARES)
  if (tick !== undefined) return quotaOf(limit, window, tick, false, null)
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what}: shares of ${limit} units over ${formatValue(options.window)} are not exact in whole numbers. Use a window of whole seconds, or a smaller limit.`,
  )
}

/** A window whose units refill at its end: of a key, or with an `offset` of the clock. Throws a QuotaError if the options are invalid. */
export function fixedQuota(what: string, options: WindowOptions, offset: Micros | null): SlidingWindowQuota {
  const { limit, window } = checkedOf(what, options)
  if (limit <= MOST_SHARES) return quotaOf(limit, window, window, true, offset && offset % window)
  const hint = `Use a limit of ${MOST_SHARES}.`
  throw invalid('ERR_SPILLWAY_QUOTA', `${what} limit is too large to be counted exactly`, limit, hint)
}

const checkedOf = (what: string, { limit, window }: WindowOptions) => ({
  limit: checkWhole(`${what} limit`, limit, 0),
  window: micros(window, `${what} window`),
})

const quotaOf = (
  limit: number,
  window: Micros,
  tick: Micros,
  fixed: boolean,
  offset: Micros | null,
): SlidingWindowQuota => Object.freeze({ kernel: 'sliding-window', limit, window, tick, fixed, calendar: null, offset })
