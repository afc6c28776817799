import { QuotaError } from '../../common/errors.ts'
import { checkWhole } from '../../common/options.ts'
import { micros } from '../../common/time.ts'
import type { WindowOptions } from '../quota-options.ts'
import type { SlidingLogQuota } from '../quota-types.ts'
import { LONGEST_LOG } from './log-checks.ts'

/** A log. Throws a QuotaError if the options are invalid. */
export function logQuota(what: string, options: WindowOptions): SlidingLogQuota {
  const limit = checkWhole(`${what} limit`, options.limit, 0)
  const window = micros(options.window, `${what} window`)
  if (limit <= LONGEST_LOG) return Object.freeze({ kernel: 'sliding-log', limit, window })
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what} keeps up to limit entries a key, ${LONGEST_LOG} at most; got ${limit}. Use slidingWindow or tokenBucket.`,
  )
}
