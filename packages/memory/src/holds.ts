import type { BucketStep } from '@spillway/core'
import { isPlain } from '@spillway/core/internal'
import type { PolicyStates } from './policy-states.ts'

/** Whether numbers in arrays can hold the states of a bucket that refills continuously. */
export const holds = ({ earlies }: PolicyStates, step: BucketStep): boolean =>
  isPlain(step) && earlies.fits(step.fraction?.scale ?? 1)
