import type { BucketTaken } from '../../kernels/bucket-taken.ts'
import type { BucketStep } from '../../kernels/bucket-types.ts'
import { bucketKernel } from '../../kernels/kernels.ts'
import type { Algorithm } from '../algorithm.ts'
import type { BucketQuota } from '../quota-types.ts'
import { bucketChecks } from './bucket-checks.ts'
import { bucketStep } from './bucket-step.ts'
import { decideBucket } from './decide-bucket.ts'
import { divideBucket } from './divide-bucket.ts'

/** The generic cell rate algorithm, of buckets that refill continuously. */
export const bucketAlgorithm: Algorithm<BucketQuota, BucketStep, BucketTaken> = {
  kernel: bucketKernel,
  checks: bucketChecks,
  stepFor: bucketStep,
  decider: decideBucket,
  divide: divideBucket,
}
