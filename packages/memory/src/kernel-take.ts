import type { Micros, PreparedTake, State, Step, Taken } from '@spillway/core'
import { type Outcome, runKernel, takenOf } from '@spillway/core/internal'
import type { AnyStates } from './any-states.ts'

/** Takes any step on any state, by its kernel. */
export class KernelTake implements PreparedTake {
  readonly #states: AnyStates
  readonly #step: Step
  #key = ''
  #now: Micros = 0
  #state: State | undefined
  #outcome: Outcome | undefined

  constructor(states: AnyStates, step: Step) {
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
