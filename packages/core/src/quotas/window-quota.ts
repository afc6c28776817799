import { formatValue, QuotaError } from '../common/errors.ts'
import { checkWhole } from '../common/options.ts'
import { type Micros, micros } from '../common/time.ts'
import { MOST_SHARES } from './quota-checks.ts'
import type { WindowOptions } from './quota-options.ts'
import type { SlidingWindowQuota } from './quota-types.ts'

/** The ticks of a window whose shares are computed: the smallest one in which they are exact. */
const TICKS: readonly Micros[] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6]

/** A window of a key, whose units refill at its end if it is `fixed`. Throws a QuotaError if the options are invalid. */
export function windowQuota(what: string, options: WindowOptions, fixed: boolean): SlidingWindowQuota {
  const limit = checkWhole(`${what} limit`, options.limit, 0)
  const window = micros(options.window, `${what} window`)
  const tick = (fixed ? [window] : TICKS).find((each) => window % each === 0 && limit * (window / each) <= MOST_SHARES)
  if (tick !== undefined) return Object.freeze({ kernel: 'sliding-window', limit, window, tick, fixed, calendar: null })
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what}: shares of ${limit} units over ${formatValue(options.window)} are not exact in whole numbers. Use a window of whole seconds, or a smaller limit.`,
  )
}
