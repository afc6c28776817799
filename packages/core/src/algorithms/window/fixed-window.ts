import { formatValue, invalid, QuotaError } from '../../common/errors.ts'
import { checkOptions } from '../../common/guess.ts'
import { checkWhole } from '../../common/options.ts'
import { micros, microsOrZero } from '../../common/time.ts'
import { register } from '../algorithm.ts'
import { bucketQuota, noUnits, scheduled } from '../bucket/bucket-quota.ts'
import { scheduledAlgorithm } from '../bucket/scheduled-algorithm.ts'
import type { FixedWindowOptions } from '../quota-options.ts'
import type { BucketQuota, SlidingWindowQuota } from '../quota-types.ts'
import { windowAlgorithm } from './window-algorithm.ts'
import { fixedQuota } from './window-quota.ts'

const bucket = register('bucket', scheduledAlgorithm)
const fixed = register('sliding-window', windowAlgorithm)

/**
 * Returns a quota of `limit` units in each window; all of them refill at the window's end. Around a window boundary,
 * over-admission is up to twice the limit; `tokenBucket` has none. With `align: 'first'`, a window starts at a key's first
 * request that is allowed. Throws a `QuotaError` if an option is invalid.
 *
 * A window of the clock is kept as a bucket, and one of more units than microseconds as a count: a charge beyond the limit is
 * then owed until the window's end.
 */
export function fixedWindow(options: FixedWindowOptions & { readonly align: 'first' }): SlidingWindowQuota
/** Returns a quota of `limit` units in each window; all of them refill at the window's end. */
export function fixedWindow(options: FixedWindowOptions): BucketQuota | SlidingWindowQuota
export function fixedWindow(options: FixedWindowOptions): BucketQuota | SlidingWindowQuota {
  checkOptions('fixedWindow', options, ['limit', 'window', 'align', 'offset'])
  if (isAlignedToFirst(options)) return fixed(fixedQuota('fixedWindow', options, null))
  const limit = checkWhole('fixedWindow limit', options.limit, 0)
  const window = micros(options.window, 'fixedWindow window')
  const offset = (window - (microsOrZero(options.offset ?? 0, 'fixedWindow offset') % window)) % window
  if (limit === 0) return bucket(noUnits(window))
  if (limit > window) return fixed(fixedQuota('fixedWindow', options, offset))
  return bucket(
    bucketQuota('fixedWindow', {
      limit,
      immediateUnits: limit,
      overdraft: 0,
      start: null,
      ...scheduled({ interval: window, amount: limit, offset }),
      window,
    }),
  )
}

function isAlignedToFirst({ align = 'clock', offset }: FixedWindowOptions): boolean {
  if (align !== 'clock' && align !== 'first') {
    throw invalid('ERR_SPILLWAY_QUOTA', "fixedWindow align must be 'clock' or 'first'", align)
  }
  if (align === 'clock' || offset === undefined) return align === 'first'
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `fixedWindow offset moves windows of the clock, and with align 'first' a key's window starts at its first request; got offset ${formatValue(offset)}. Leave out one of them.`,
  )
}
