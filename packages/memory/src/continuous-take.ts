import type { BucketStep, PreparedTake } from '@spillway/core'
import { isPlain } from '@spillway/core/internal'
import { bucketTake } from './bucket-take.ts'
import { fractionTake } from './fraction-take.ts'
import type { PolicyStates } from './policy-states.ts'

/** Whether numbers in arrays can hold the states of a bucket that refills continuously. */
export const holds = ({ earlies }: PolicyStates, step: BucketStep): boolean =>
  isPlain(step) && earlies.fits(step.fraction?.scale ?? 1)

/** Prepares a step of such a bucket. */
export function continuousTake(states: PolicyStates, step: BucketStep, general: PreparedTake): PreparedTake {
  return step.fraction === null ? bucketTake(states, step, general) : fractionTake(states, step, step.fraction, general)
}
