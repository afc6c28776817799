import type { BucketTaken } from '../../kernels/bucket-taken.ts'
import type { BucketStep } from '../../kernels/bucket-types.ts'
import { bucketKernel } from '../../kernels/kernels.ts'
import type { Algorithm } from '../algorithm.ts'
import type { BucketQuota } from '../quota-types.ts'
import { scheduledChecks } from './bucket-checks.ts'
import { bucketStep } from './bucket-step.ts'
import { decideBucket } from './decide-bucket.ts'
import { decideSchedule } from './decide-schedule.ts'
import { divideBucket, divideSchedule } from './divide-bucket.ts'
import { scheduleTake } from './schedule-take.ts'

/** The generic cell rate algorithm, of all buckets: those that refill at intervals, too. */
export const scheduledAlgorithm: Algorithm<BucketQuota, BucketStep, BucketTaken> = {
  kernel: bucketKernel,
  checks: scheduledChecks,
  stepFor: bucketStep,
  decider: (policy, quota, cost, step) =>
    quota.schedule === null
      ? decideBucket(policy, quota, cost, step)
      : decideSchedule(policy, quota, cost, step, quota.schedule),
  take: scheduleTake,
  divide: (quota, replicas) =>
    quota.schedule === null ? divideBucket(quota, replicas) : divideSchedule(quota, replicas, quota.schedule),
}
