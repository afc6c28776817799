import { SYNC_CALLS } from '../checks/sync-calls.ts'
import { answerOf, takesFor } from '../checks/takes.ts'
import { StoreError } from '../common/errors.ts'
import type { Taken } from '../kernels/kernel.ts'
import {
  type Batches,
  type CallDeadline,
  configOf,
  type PolicyCheck,
  type StoreAnswer,
  type StoreCalls,
  type StoreResult,
} from '../policies/policy.ts'
import { checkDeleted } from '../stores/answers.ts'
import type { Take } from '../stores/store.ts'
import { breakerOf } from './breaker.ts'
import { deadlineIn, unlessExpired } from './deadline.ts'
import { fallBack } from './failure-modes.ts'
import { lateAnswerTo, lateUnits, NONE_USED } from './late-units.ts'
import { localOf } from './local-count.ts'
import { localStoreOf } from './local-store.ts'
import { deleteFrom, takeEachFrom, takeFrom } from './store-call.ts'

/** The calls of a store that answers late, or never: in time or not at all, and what was taken late is refunded. */
export const REMOTE_CALLS: StoreCalls = {
  decide(checks, verb, stepOptions, deadline = deadlineFrom(checks)) {
    const { store, logger } = configOf(checks)
    const takes = takesFor(checks, verb, stepOptions)
    const read = (taken: readonly Taken[]): StoreResult => answerOf(checks, takes, taken)
    const failed = (error: unknown): Promise<StoreResult> =>
      fallBack(error, checks, {
        verb,
        countBy: (local) => SYNC_CALLS.decide(local, verb, stepOptions) as StoreAnswer,
        readLate: lateAnswerTo(checks, takes),
      })
    return takeFrom(store, takes, deadline, logger, read, failed)
  },
  take,
  takeEach,
  fallBack,
  refund,
  async charge(checks, takes) {
    try {
      return await take(checks, takes)
    } catch (error) {
      // If the charge is reported as failed and applied later, it is refunded.
      if (error instanceof StoreError) lateUnits(error, lateAnswerTo(checks, takes)).settle(NONE_USED)
      throw error
    }
  },
  inTime: (answer, checks, deadline = deadlineFrom(checks)) => unlessExpired(answer, deadline),
  deadlineFrom,
  async delete(keys, { store, deadline, logger }) {
    const local = localStoreOf(store).deleteSync(keys)
    return local + (await deleteFrom(store, keys, deadlineIn(deadline), logger))
  },
  async deleteAll(policies, store) {
    const local = await localStoreOf(store).deleteAll(policies)
    return local + checkDeleted(await store.deleteAll(policies))
  },
  localOf,
}

function deadlineFrom(checks: readonly PolicyCheck[], startMs?: number): CallDeadline {
  return deadlineIn(Math.min(...checks.map(({ policy }) => policy.storeConfig.deadline)), startMs)
}

function take(checks: readonly PolicyCheck[], takes: readonly Take[]): Promise<readonly Taken[]> {
  const { store, logger } = configOf(checks)
  return takeFrom(store, takes, deadlineFrom(checks), logger)
}

function takeEach(
  checks: readonly PolicyCheck[],
  batches: Batches,
  deadline: CallDeadline = deadlineFrom(checks),
): Promise<readonly (readonly Taken[])[]> {
  const { store, logger } = configOf(checks)
  return takeEachFrom(store, batches, deadline, logger)
}

/**
 * A refund that was not sent is queued until the store answers again. One that was sent is never sent again, because it may
 * have been applied: it is counted as dropped if it fails. Rejects if the refund is not applied yet.
 */
async function refund(checks: readonly PolicyCheck[], takes: readonly Take[]): Promise<readonly Taken[]> {
  try {
    return await take(checks, takes)
  } catch (error) {
    if (error instanceof StoreError) breakerOf(configOf(checks).store).refundFailed(takes, error)
    throw error
  }
}
