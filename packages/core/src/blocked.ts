import { isBlockList } from './block-list.ts'
import type { Decision } from './decision.ts'
import type { Taken } from './kernels/kernel.ts'
import { andThen, type MaybePromise } from './maybe-promise.ts'
import type { Policy, PolicyCheck } from './policy.ts'
import { answerTo, takesFor } from './store-result.ts'

/** The policies of a limiter, but for its block list. */
export const shownPolicies = (policies: readonly Policy[]): readonly Policy[] =>
  policies.filter(({ quota }) => !isBlockList(quota))

/** The block list of a limiter; undefined without one. */
export const blockListOf = (policies: readonly Policy[]): Policy | undefined =>
  policies.find(({ quota }) => isBlockList(quota))

/** Milliseconds until the end of the block that a step has found; 0 without one. */
export const blockedFor = (taken: Taken): number =>
  'level' in taken && taken.until > 0 ? (taken.until - taken.now) / 1000 : 0

/** The decision about one unit of a key, which is not consumed. Rejects with a `StoreError` if the store fails. */
export function peekAt(policy: Policy, key: string): MaybePromise<Decision> {
  const checks: readonly PolicyCheck[] = [{ policy, key, cost: 1 }]
  return andThen(answerTo(checks, takesFor(checks, 'peek')), ({ decisions }) => decisions[0] as Decision)
}
