import { decideBucket } from '../decisions/decide-bucket.ts'
import { decideSchedule } from '../decisions/decide-schedule.ts'
import type { BucketStep } from '../kernels/bucket.ts'
import type { BucketTaken } from '../kernels/bucket-taken.ts'
import { bucketKernel } from '../kernels/kernels.ts'
import { bucketChecks } from '../quotas/quota-checks.ts'
import type { BucketQuota } from '../quotas/quota-types.ts'
import { bucketStep } from '../steps/bucket-step.ts'
import type { Algorithm } from './algorithm.ts'
import { divideBucket } from './divide-bucket.ts'

/** The generic cell rate algorithm. */
export const bucketAlgorithm: Algorithm<BucketQuota, BucketStep, BucketTaken> = {
  kernel: bucketKernel,
  checks: bucketChecks,
  stepFor: bucketStep,
  decider: (policy, quota, cost, step) =>
    quota.schedule === null
      ? decideBucket(policy, quota, cost, step)
      : decideSchedule(policy, quota, cost, step, quota.schedule),
  divide: divideBucket,
}
