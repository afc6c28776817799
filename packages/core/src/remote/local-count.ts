import { oncePer } from '../common/once-per.ts'
import { consumeSteps } from '../policies/consume-steps.ts'
import { rollbackResult, settleResult } from '../policies/correct.ts'
import type { Policy, PolicyCheck, StoreResult } from '../policies/policy.ts'
import { SYNC_CALLS } from '../policies/sync-calls.ts'
import { localStoreOf } from './local-store.ts'
import type { Substitute } from './substitute.ts'

/** Counts checks in this process, all-or-nothing. */
export function countLocally(
  checks: readonly PolicyCheck[],
  countBy: (local: readonly PolicyCheck[]) => StoreResult,
): Substitute {
  const counted = countBy(checks.map((check) => ({ ...check, policy: localOf(check.policy) })))
  const checkOf = (local: PolicyCheck): PolicyCheck => checks[counted.checks.indexOf(local)] as PolicyCheck
  let { decisions } = counted
  return {
    decisionOf: (check) => decisions[checks.indexOf(check)],
    rollback() {
      // The local store answers in the same tick.
      if (decisions.every(({ allowed }) => allowed)) decisions = (rollbackResult(counted) as StoreResult).decisions
    },
    settle: (actualOf) => settleResult(counted, (local) => actualOf(checkOf(local))),
  }
}

/** The policy with this process's share of the quota, in the local store. */
export const localOf: (policy: Policy) => Policy = oncePer('local policies', (policy: Policy): Policy => {
  const { localQuota: share, storeConfig } = policy
  const store = localStoreOf(storeConfig.store)
  return {
    ...policy,
    quota: share,
    storeConfig: { ...storeConfig, store, calls: SYNC_CALLS },
    ...consumeSteps(policy.name, share, store),
  }
})
