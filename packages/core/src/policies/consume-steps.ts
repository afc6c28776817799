import { decider, stepFor } from '../algorithms/algorithm.ts'
import type { Decide } from '../algorithms/decision.ts'
import type { PreparedTake } from '../algorithms/prepared-take.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import { checkUnits } from '../algorithms/verbs.ts'
import { hasMethod } from '../common/by-hand.ts'
import { invalidOption } from '../common/errors.ts'
import { checkTime } from '../common/time.ts'
import type { Step } from '../kernels/kernel.ts'
import type { Store } from '../stores/store.ts'
import { preparesTakes } from '../stores/store-kinds.ts'

/** A step that consumes units of a policy. */
export interface ConsumeStep {
  readonly cost: number
  readonly step: Step
  /** Turns its results into decisions. */
  readonly decide: Decide
  /** The same step, prepared. Only that of a store that prepares takes is called. */
  readonly take: PreparedTake
}

/** How many costs have their steps kept, one for each end of a number in bits: building a step takes longer than a take. */
const KEPT = 64

/** The steps that consume units of a policy. That of one unit is built once, and those of some other costs are kept. */
export class ConsumeSteps {
  readonly one: ConsumeStep
  readonly #make: (cost: number) => ConsumeStep
  readonly #kept: (ConsumeStep | undefined)[] = []

  constructor(policy: string, quota: Quota, store: Store) {
    this.#make = (cost) => {
      // Frozen, because the store is given the same step for many requests.
      const step = Object.freeze(stepFor(quota, 'consume', checkUnits(cost)))
      return { cost, step, decide: decider(policy, quota, cost, step), take: prepared(store, policy, step) }
    }
    // Once, because prepared takes count by it without a check.
    if (preparesTakes(store)) checkTime('clock of a store', store.clock())
    this.one = this.#make(1)
  }

  /** Throws a `QuotaError` if the cost is invalid. */
  costing(cost: number): ConsumeStep {
    if (cost === 1) return this.one
    // Only numbers have bits: other values are rejected as costs.
    const place = typeof cost === 'number' ? cost & (KEPT - 1) : 0
    const known = this.#kept[place]
    if (known?.cost === cost) return known
    const made = this.#make(cost)
    this.#kept[place] = made
    return made
  }
}

const UNPREPARED = {} as PreparedTake

function prepared(store: Store, policy: string, step: Step): PreparedTake {
  if (!preparesTakes(store)) return UNPREPARED
  const take: unknown = store.prepareSync(policy, step)
  if (['look', 'commit', 'take'].every((name) => hasMethod(take, name))) return take as PreparedTake
  throw invalidOption('prepareSync of a store must return an object with look, commit and take', take)
}
