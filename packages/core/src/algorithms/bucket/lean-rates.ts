import { checkNames } from '../../common/options.ts'
import type { Micros } from '../../common/time.ts'
import { register } from '../algorithm.ts'
import type { RateOptions } from '../quota-options.ts'
import type { BucketQuota } from '../quota-types.ts'
import { rateNumbers, refilling } from './bucket-quota.ts'
import { continuousAlgorithm } from './continuous-algorithm.ts'

// The same as in `token-bucket.ts`, for limiters that only consume.
const bucket = register('bucket', continuousAlgorithm)

function rate(what: string, limit: number, per: Micros, options: RateOptions = {}): BucketQuota {
  checkNames(what, options, ['burst'])
  return bucket(refilling(what, rateNumbers(what, limit, per, options.burst)))
}

/** Returns a token bucket: `limit` units at once, and then `limit` a second. In any such time it allows less than twice as many. */
export const perSecond = (limit: number, options?: RateOptions): BucketQuota => rate('perSecond', limit, 1e6, options)
/** Returns a token bucket: `limit` units at once, and then `limit` a minute. In any such time it allows less than twice as many. */
export const perMinute = (limit: number, options?: RateOptions): BucketQuota => rate('perMinute', limit, 60e6, options)
/** Returns a token bucket: `limit` units at once, and then `limit` an hour. In any such time it allows less than twice as many. */
export const perHour = (limit: number, options?: RateOptions): BucketQuota => rate('perHour', limit, 3_600e6, options)
/** Returns a token bucket: `limit` units at once, and then `limit` a day (24 hours). In any such time it allows less than twice as many. */
export const perDay = (limit: number, options?: RateOptions): BucketQuota => rate('perDay', limit, 86_400e6, options)
