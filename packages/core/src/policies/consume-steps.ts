import { decider, stepFor } from '../algorithms/algorithm.ts'
import type { PreparedTake } from '../algorithms/prepared-take.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import { checkUnits } from '../algorithms/verbs.ts'
import { hasMethod } from '../common/by-hand.ts'
import { invalidOption } from '../common/errors.ts'
import { checkTime } from '../common/time.ts'
import type { Step } from '../kernels/kernel.ts'
import type { Store } from '../stores/store.ts'
import { preparesTakes } from '../stores/store-kinds.ts'
import type { ConsumeStep, Policy } from './policy.ts'

/** How many costs have their steps kept, one for each end of a number in bits: building a step takes longer than a take. */
const KEPT = 64

/** Builds the steps that consume units of a policy: that of one unit once, and those of some other costs are kept. */
export function consumeSteps(name: string, quota: Quota, store: Store): Pick<Policy, 'oneUnit' | 'costing'> {
  const made = (cost: number): ConsumeStep => {
    // Frozen, because the store is given the same step for many requests.
    const step = Object.freeze(stepFor(quota, 'consume', checkUnits(cost)))
    return { cost, step, decide: decider(name, quota, cost, step), take: prepared(store, name, step) }
  }
  // Once, because prepared takes count by it without a check.
  if (preparesTakes(store)) checkTime('clock of a store', store.clock())
  const oneUnit = made(1)
  const kept: (ConsumeStep | undefined)[] = []
  return {
    oneUnit,
    costing(cost) {
      if (cost === 1) return oneUnit
      // Only numbers have bits: other values are rejected as costs.
      const place = typeof cost === 'number' ? cost & (KEPT - 1) : 0
      const known = kept[place]
      if (known?.cost === cost) return known
      const step = made(cost)
      kept[place] = step
      return step
    },
  }
}

/** Stands in for the prepared take of a store that prepares none. */
const UNPREPARED: PreparedTake = { look: notPrepared, commit: notPrepared, take: notPrepared }

function prepared(store: Store, policy: string, step: Step): PreparedTake {
  if (!preparesTakes(store)) return UNPREPARED
  const take: unknown = store.prepareSync(policy, step)
  return isTake(take) ? take : notPrepared(take)
}

const isTake = (take: unknown): take is PreparedTake =>
  ['look', 'commit', 'take'].every((name) => hasMethod(take, name))

function notPrepared(take: unknown): never {
  throw invalidOption('prepareSync of a store must return an object with look, commit and take', take)
}
