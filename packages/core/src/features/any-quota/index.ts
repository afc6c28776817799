import { problemTypes } from '../../http/pipeline/problem-types.ts'
import type { Feature } from '../../http/pipeline/seams.ts'

/** Any quota, such as `fixedWindow` and `penalty`: without it, the store in memory has token buckets only. */
export const anyQuota: Feature = { name: 'anyQuota', layers: { denial: problemTypes } }
