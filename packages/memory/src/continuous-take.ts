import type { BucketStep, PreparedTake } from '@spillway/core'
import { isPlain } from '@spillway/core/internal'
import { bucketTake } from './bucket-take.ts'
import { fractionTake } from './fraction-take.ts'
import type { PolicyStates } from './policy-states.ts'

/** Prepares a step of a bucket that refills continuously; undefined if numbers in arrays cannot hold its states. */
export function continuousTake(
  states: PolicyStates,
  step: BucketStep,
  general: PreparedTake,
): PreparedTake | undefined {
  if (!isPlain(step) || !states.earlies.fits(step.fraction?.scale ?? 1)) return undefined
  return step.fraction === null ? bucketTake(states, step, general) : fractionTake(states, step, step.fraction, general)
}
