import type { Micros } from '../common/time.ts'
import type { BucketQuota } from './quota-types.ts'

/** The time in which one unit of a bucket, or of a key that warms up, refills. */
export const unitMicros = ({
  schedule,
  ticksPerUnit,
  scale,
}: Pick<BucketQuota, 'ticksPerUnit' | 'scale'> & Pick<Partial<BucketQuota>, 'schedule'>): Micros =>
  schedule?.tick ?? ticksPerUnit / scale
