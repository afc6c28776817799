import type { BucketStep, Micros, PreparedTake, State, Step, Taken } from '@spillway/core'
import { type Outcome, runKernel, takenOf } from '@spillway/core/internal'
import { bucketTake } from './bucket-take.ts'
import { fractionTake } from './fraction-take.ts'
import { logTake } from './log-take.ts'
import type { PolicyStates } from './policy-states.ts'
import { scheduleTake } from './schedule-take.ts'
import { windowTake } from './window-take.ts'

/** Prepares a step: on the stored numbers if it consumes units, else by its kernel. */
export function prepare(states: PolicyStates, step: Step): PreparedTake {
  const general = new KernelTake(states, step)
  if (step.peek || step.increment < 0 || step.check < 0) return general
  switch (step.kernel) {
    case 'bucket':
      if (!isPlain(step) || !states.earlies.fits(step.fraction?.scale ?? 1)) return general
      if (step.schedule !== null) return scheduleTake(states, step, step.schedule, general)
      return step.fraction === null
        ? bucketTake(states, step, general)
        : fractionTake(states, step, step.fraction, general)
    case 'sliding-window':
      return step.calendar === null ? windowTake(states, step, general) : general
    case 'sliding-log':
      return logTake(states, step, general)
    case 'warm-up':
    case 'penalty':
      return general
  }
}

/** Consumes from a bucket that starts full, without waiting. */
const isPlain = ({ start, maxWaitMicros, tolerance, ceiling }: BucketStep): boolean =>
  start === null && maxWaitMicros === 0 && tolerance <= ceiling

/** Takes any step on any state, by its kernel. */
export class KernelTake implements PreparedTake {
  readonly #states: PolicyStates
  readonly #step: Step
  #key = ''
  #now: Micros = 0
  #state: State | undefined
  #outcome: Outcome | undefined

  constructor(states: PolicyStates, step: Step) {
    this.#states = states
    this.#step = step
  }

  look(key: string, now: Micros): boolean {
    this.#key = key
    this.#now = now
    this.#state = this.#states.state(this.#states.find(key))
    this.#outcome = runKernel(this.#state, now, this.#step)
    return this.#outcome.allowed
  }

  commit(allowed: boolean): Taken {
    const outcome = this.#outcome as Outcome
    const step = this.#step
    const state = allowed ? outcome.taken : outcome.kept
    if (state !== undefined && state !== this.#state && !step.peek) this.#states.put(this.#key, state, step, this.#now)
    return takenOf(outcome, this.#now, step, allowed && !step.peek)
  }

  take(key: string, now: Micros): Taken {
    return this.commit(this.look(key, now))
  }
}
