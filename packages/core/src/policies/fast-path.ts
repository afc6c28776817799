import type { Decision } from '../algorithms/decision.ts'
import { merge } from '../algorithms/merge.ts'
import { blockListOf } from '../algorithms/penalty/block-list.ts'
import { checkKey } from '../algorithms/verbs.ts'
import { andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Micros } from '../common/time.ts'
import type { SyncStore } from '../stores/store.ts'
import { preparesTakes } from '../stores/store-kinds.ts'
import { type Costs, costsOf, type NamedPolicies } from './costs.ts'
import type { ConsumeStep } from './policy.ts'
import { consumeTogether } from './takes.ts'

type ConsumeSync = (key: string, cost?: number | Costs) => Decision

/** The fast path to an in-memory store that prepares takes; undefined for others. */
export function syncFastPath(store: SyncStore, named: NamedPolicies): ConsumeSync | undefined {
  const [policy, ...others] = named.policies
  if (policy === undefined || !preparesTakes(store)) return undefined
  const { clock } = store
  if (others.length > 0) return severalFastPath(clock, named)
  const { take, decide } = policy.oneUnit
  const consume: ConsumeSync = (key, cost = 1) => {
    checkKey(key)
    const { take, decide } = policy.costing(oneCost(named, cost))
    return decide(take.take(key, clock()))
  }
  return take.consumer?.<Costs>(clock, decide, consume) ?? consume
}

const oneCost = (named: NamedPolicies, cost: number | Costs): number =>
  typeof cost === 'number' ? cost : (costsOf(named, cost, 'consume')[0] as number)

function severalFastPath(clock: () => Micros, named: NamedPolicies): ConsumeSync {
  const ones = named.policies.map(({ oneUnit }) => oneUnit)
  const hasBlockList = blockListOf(named.policies) !== undefined
  return (key, cost = 1) => {
    const steps = cost === 1 ? ones : costing(named, cost)
    const decisions = consumeTogether(steps, checkKey(key), clock())
    // The block list is the last policy. It is shown to keys that are blocked.
    if (hasBlockList && decisions.at(-1)?.allowed) decisions.pop()
    return merge(decisions)
  }
}

function costing(named: NamedPolicies, cost: number | Costs): readonly ConsumeStep[] {
  const costs = costsOf(named, cost, 'consume')
  return named.policies
    .map((policy, i) => (costs[i] === undefined ? undefined : policy.costing(costs[i])))
    .filter((step) => step !== undefined)
}

/** The fast path of one policy to a remote store. Undefined for several policies. */
export function remoteFastPath(
  named: NamedPolicies,
): ((key: string, cost?: number | Costs) => MaybePromise<Decision>) | undefined {
  const [policy, ...others] = named.policies
  if (policy === undefined || others.length > 0) return undefined
  return (key, costs = 1) => {
    const check = { policy, key: checkKey(key), cost: oneCost(named, costs) }
    return andThen(policy.storeConfig.calls.decide([check], 'consume'), ({ decisions }) => decisions[0] as Decision)
  }
}
