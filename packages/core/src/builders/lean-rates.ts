import { register } from '../algorithms/algorithm.ts'
import { continuousAlgorithm } from '../algorithms/continuous-bucket.ts'
import type { RateOptions } from '../quotas/quota-options.ts'
import type { BucketQuota } from '../quotas/quota-types.ts'
import { rateOf } from './rate.ts'

// The same as in `token-bucket.ts`, for limiters that only consume.
const bucket = register('bucket', continuousAlgorithm)

/** Returns a token bucket: `limit` units at once, and then `limit` a second. In any such time it allows less than twice as many. */
export const perSecond = (limit: number, options?: RateOptions): BucketQuota =>
  bucket(rateOf('perSecond', limit, '1s', options))
/** Returns a token bucket: `limit` units at once, and then `limit` a minute. In any such time it allows less than twice as many. */
export const perMinute = (limit: number, options?: RateOptions): BucketQuota =>
  bucket(rateOf('perMinute', limit, '1m', options))
/** Returns a token bucket: `limit` units at once, and then `limit` an hour. In any such time it allows less than twice as many. */
export const perHour = (limit: number, options?: RateOptions): BucketQuota =>
  bucket(rateOf('perHour', limit, '1h', options))
/** Returns a token bucket: `limit` units at once, and then `limit` a day (24 hours). In any such time it allows less than twice as many. */
export const perDay = (limit: number, options?: RateOptions): BucketQuota =>
  bucket(rateOf('perDay', limit, '1d', options))
