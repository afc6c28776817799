import { andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Micros } from '../common/time.ts'
import type { Decision } from '../decisions/decision.ts'
import { merge } from '../decisions/merge.ts'
import type { PreparedStep } from '../policies/consume-steps.ts'
import { blockListOf } from '../quotas/block-list.ts'
import { checkKey } from '../steps/verbs.ts'
import type { SyncStore } from '../stores/store.ts'
import { type ConsumeSync, consumeOne } from './consume-one.ts'
import { type Costs, costsOf, type NamedPolicies } from './costs.ts'

/** The fast path to an in-memory store that prepares takes; undefined for others. */
export function syncFastPath(store: SyncStore, named: NamedPolicies): ConsumeSync<number | Costs> | undefined {
  const { clock } = store
  const { policies } = named
  const [policy] = policies
  if (policy?.steps.one.take === undefined || !clock) return undefined
  if (policies.length > 1) return severalFastPath(clock, named)
  const { steps } = policy
  const { take, decide } = steps.one as PreparedStep
  const consume: ConsumeSync<number | Costs> = (key, cost = 1) => {
    checkKey(key)
    const { take, decide } = steps.costing(oneCost(named, cost)) as PreparedStep
    return decide(take.take(key, clock()))
  }
  return take.consumer?.<Costs>(clock, decide, consume) ?? consumeOne(clock, take, decide, consume)
}

/** Of the decisions of requests, only those of a block list allow with a limit of 0. */
const isShown = ({ allowed, limit }: Decision): boolean => limit > 0 || !allowed

/** The cost of the only policy. */
const oneCost = (named: NamedPolicies, cost: number | Costs): number =>
  typeof cost === 'number' ? cost : (costsOf(named, cost, 'consume')[0] as number)

function severalFastPath(clock: () => Micros, named: NamedPolicies): ConsumeSync<number | Costs> {
  const { policies } = named
  const ones = policies.map(({ steps }) => steps.one as PreparedStep)
  const showsAll = blockListOf(policies) === undefined
  return (key, cost = 1) => {
    const consumed = cost === 1 ? ones : costing(named, cost)
    checkKey(key)
    const now = clock()
    let allowed = true
    // Iterators and destructured elements would make this too large to inline what it calls.
    for (let i = 0; i < consumed.length; i++) if (!(consumed[i] as PreparedStep).take.look(key, now)) allowed = false
    const decisions = new Array<Decision>(consumed.length)
    for (let i = 0; i < consumed.length; i++) {
      const { take, decide } = consumed[i] as PreparedStep
      decisions[i] = decide(take.commit(allowed))
    }
    const shown = showsAll || decisions.every(isShown) ? decisions : decisions.filter(isShown)
    return shown.length === 1 ? (shown[0] as Decision) : merge(shown)
  }
}

function costing(named: NamedPolicies, cost: number | Costs): readonly PreparedStep[] {
  if (typeof cost === 'number') return named.policies.map(({ steps }) => steps.costing(cost) as PreparedStep)
  const costs = costsOf(named, cost, 'consume')
  return named.policies
    .map(({ steps }, i) => (costs[i] === undefined ? undefined : (steps.costing(costs[i] as number) as PreparedStep)))
    .filter((prepared) => prepared !== undefined)
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
