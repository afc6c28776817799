import { QuotaError } from '../../common/errors.ts'
import type { BucketTaken } from '../../kernels/bucket-taken.ts'
import type { BucketStep } from '../../kernels/bucket-types.ts'
import type { Algorithm } from '../algorithm.ts'
import type { BucketQuota } from '../quota-types.ts'
import { continuousChecks } from './bucket-checks.ts'
import { consumeBucket } from './consume-bucket.ts'
import { decideBucket } from './decide-bucket.ts'

/** Throws, as this process only has the part of the algorithm that consumes units. */
function needsWhole(what: string): never {
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what} is of a lean entry, which only consumes units. Import perMinute from '@spillway/core', or the package of your framework.`,
  )
}

/**
 * The part of the algorithm of buckets that consumes units, for those that refill continuously and start full. Limiters that do
 * more throw when they are built.
 */
export const continuousAlgorithm: Algorithm<BucketQuota, BucketStep, BucketTaken> = {
  checks: continuousChecks,
  stepFor: (quota, verb, cost) => (verb === 'consume' ? consumeBucket(quota, cost) : needsWhole(`a ${verb}`)),
  decider: decideBucket,
  get kernel() {
    return needsWhole('a quota')
  },
  divide: () => needsWhole('a quota to divide'),
  needsWhole,
}
