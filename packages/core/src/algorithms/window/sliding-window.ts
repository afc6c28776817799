import { checkOptions } from '../../common/guess.ts'
import { register } from '../algorithm.ts'
import type { WindowOptions } from '../quota-options.ts'
import type { SlidingWindowQuota } from '../quota-types.ts'
import { windowAlgorithm } from './window-algorithm.ts'
import { slidingQuota } from './window-quota.ts'

const sliding = register('sliding-window', windowAlgorithm)

/**
 * Returns a quota of `limit` units in any window, estimated from the counts of the current and the previous window. Around a
 * window boundary, over-admission is up to twice the limit in a window's length; steady traffic gets the limit. Throws a
 * `QuotaError` if an option is invalid.
 */
export function slidingWindow(options: WindowOptions): SlidingWindowQuota {
  checkOptions('slidingWindow', options, ['limit', 'window'])
  return sliding(slidingQuota('slidingWindow', options))
}
