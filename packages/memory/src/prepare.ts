import type { PreparedTake, Step } from '@spillway/core'
import type { AnyStates } from './any-states.ts'
import { continuousTake, isPlain } from './continuous-take.ts'
import { KernelTake } from './kernel-take.ts'
import { logTake } from './log-take.ts'
import { scheduleTake } from './schedule-take.ts'
import { windowTake } from './window-take.ts'

/** Prepares a step: on the stored numbers if it consumes units, else by its kernel. */
export function prepare(states: AnyStates, step: Step): PreparedTake {
  const general = new KernelTake(states, step)
  if (step.peek || step.increment < 0 || step.check < 0) return general
  switch (step.kernel) {
    case 'bucket':
      if (step.schedule === null) return continuousTake(states, step, general) ?? general
      return isPlain(step) ? scheduleTake(states, step, step.schedule, general) : general
    case 'sliding-window':
      return step.calendar === null ? windowTake(states, step, general) : general
    case 'sliding-log':
      return logTake(states, step, general)
    case 'warm-up':
    case 'penalty':
      return general
  }
}
