import { decideBucket } from '../decisions/decide-bucket.ts'
import type { BucketTaken } from '../kernels/bucket-taken.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import { bucketKernel } from '../kernels/kernels.ts'
import { bucketChecks } from '../quotas/bucket-checks.ts'
import type { BucketQuota } from '../quotas/quota-types.ts'
import { bucketStep } from '../steps/bucket-step.ts'
import type { Algorithm } from './algorithm.ts'
import { divideBucket } from './divide-bucket.ts'

/** The generic cell rate algorithm, of buckets that refill continuously. */
export const bucketAlgorithm: Algorithm<BucketQuota, BucketStep, BucketTaken> = {
  kernel: bucketKernel,
  checks: bucketChecks,
  stepFor: bucketStep,
  decider: decideBucket,
  divide: divideBucket,
}
