import { breakerOf } from './breaker.ts'
import { deadlineIn } from './deadline.ts'
import { decide, decideSingleUnit } from './decide.ts'
import type { Decision } from './decision.ts'
import { StoreError } from './errors.ts'
import { fallBack } from './fallback.ts'
import type { Taken } from './kernels/kernel.ts'
import { type Policy, stepToConsume } from './policy.ts'
import type { SyncStore } from './store.ts'
import { checkCost, checkKey } from './verbs.ts'

/** Consumes units of one policy for a key. */
export type ConsumeSync = (key: string, cost?: number) => Decision

/** The fast path of one policy to an in-memory store: without lists, which several policies need. Undefined if there is none. */
export function syncFastPath(store: SyncStore, policies: readonly Policy[]): ConsumeSync | undefined {
  const [policy] = policies
  if (policy === undefined || policies.length > 1 || !store.takeOneSync) return undefined
  const { name, quota } = policy
  const takeOne = store.takeOneSync
  const consume = (key: string, cost = 1): Decision => {
    checkKey(key)
    const step = stepToConsume(policy, checkCost(cost, quota, 'consume'))
    return decide(name, quota, cost, step, takeOne(name, key, step))
  }
  const { fastPath } = policy
  if (fastPath === undefined) return consume
  return (key, cost = 1) => {
    const before = cost === 1 && typeof key === 'string' && key !== '' ? fastPath.take(key) : Number.NaN
    return Number.isNaN(before) ? consume(key, cost) : decideSingleUnit(name, fastPath.quota, fastPath.step, before)
  }
}

/** The fast path of one policy to a remote store. Undefined for several policies. */
export function remoteFastPath(
  policies: readonly Policy[],
): ((key: string, cost?: number) => Promise<Decision>) | undefined {
  const [policy] = policies
  if (policy === undefined || policies.length > 1) return undefined
  const { name, quota } = policy
  const { store, deadline, logger } = policy.storeConfig
  const breaker = breakerOf(store)
  return (key, cost = 1) => {
    checkKey(key)
    const step = stepToConsume(policy, checkCost(cost, quota, 'consume'))
    const take = { policy: name, key, step }
    const until = deadlineIn(deadline)
    const taken = breaker.call(take, () => store.take([take], undefined, until), until, logger)
    return taken.then(
      ([first]) => decide(name, quota, cost, step, first as Taken),
      async (error: unknown) => {
        if (!(error instanceof StoreError)) throw error
        const { decisions } = await fallBack(error, [{ policy, key, cost }], 'consume')
        return decisions[0] as Decision
      },
    )
  }
}
