import type { PreparedTake, Step } from '@spillway/core'
import { algorithmOf } from '@spillway/core/internal'
import type { AnyStates } from './any-states.ts'
import { bucketTake } from './bucket-take.ts'
import { holds } from './holds.ts'
import { KernelTake } from './kernel-take.ts'

/** Prepares a step: on the stored numbers if it consumes units and its algorithm can, else by its kernel. */
export function prepare(states: AnyStates, step: Step): PreparedTake {
  const general = new KernelTake(states, step)
  if (step.peek || step.increment < 0 || step.check < 0) return general
  if (step.kernel === 'bucket' && step.schedule === null)
    return holds(states, step) ? bucketTake(states, step, general) : general
  return algorithmOf(step).take?.(states, step, general) ?? general
}
