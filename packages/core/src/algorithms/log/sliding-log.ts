import { checkOptions } from '../../common/guess.ts'
import { register } from '../algorithm.ts'
import type { WindowOptions } from '../quota-options.ts'
import type { SlidingLogQuota } from '../quota-types.ts'
import { logAlgorithm } from './log-algorithm.ts'
import { logQuota } from './log-quota.ts'

const logged = register('sliding-log', logAlgorithm)

/**
 * Returns a quota of `limit` units in any window, exactly: each take is logged for the length of the window. Memory per key
 * and time per request grow with the log, of up to `limit` entries: 10,000 at most. Throws a `QuotaError` if an option is
 * invalid.
 */
export function slidingLog(options: WindowOptions): SlidingLogQuota {
  checkOptions('slidingLog', options, ['limit', 'window'])
  return logged(logQuota('slidingLog', options))
}
