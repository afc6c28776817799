import type { Decision } from '../algorithms/decision.ts'
import type { MaybePromise } from '../common/maybe-promise.ts'
import type { ActualOf, PolicyCheck } from '../policies/policy.ts'

/** What has counted checks in place of a store that failed. */
export interface Substitute {
  /** Its decision of a check, after the rollback if there was one; undefined if it has not decided it. */
  decisionOf(check: PolicyCheck): Decision | undefined
  /** Refunds all units, for a request that is denied after all; by default, corrects them to 0. */
  rollback?(): void
  /** Corrects the units to the actual cost. */
  settle(actualOf: ActualOf): MaybePromise<void>
}
