import { decider } from './decide.ts'
import type { Decide } from './decision.ts'
import type { Step } from './kernels/kernel.ts'
import type { Quota } from './quota-types.ts'
import { isSync, type PreparedTake, type Store } from './store.ts'
import { checkCost, stepFor } from './verbs.ts'

/** A step that consumes units of a policy. */
export interface ConsumeStep {
  readonly cost: number
  readonly step: Step
  /** Turns its results into decisions. */
  readonly decide: Decide
  /** The same step, prepared; undefined if the store prepares none. */
  readonly take: PreparedTake | undefined
}

/** The steps that consume units of a policy. Those of one unit, and of the last other cost, are built once. */
export class ConsumeSteps {
  readonly one: ConsumeStep
  readonly #make: (cost: number) => ConsumeStep
  #last: ConsumeStep

  constructor(policy: string, quota: Quota, store: Store) {
    this.#make = (cost) => {
      // Frozen, because the store is given the same step for many requests.
      const step = Object.freeze(stepFor(quota, 'consume', checkCost(cost, quota, 'consume')))
      const take = isSync(store) && store.clock ? store.prepareSync?.(policy, step) : undefined
      return { cost, step, decide: decider(policy, quota, cost, step), take }
    }
    this.one = this.#make(1)
    this.#last = this.one
  }

  /** Throws a `QuotaError` if the cost is invalid. */
  costing(cost: number): ConsumeStep {
    if (cost === 1) return this.one
    if (cost !== this.#last.cost) this.#last = this.#make(cost)
    return this.#last
  }
}
