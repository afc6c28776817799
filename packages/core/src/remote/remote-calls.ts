import { shareOfQuota } from '../algorithms/algorithm.ts'
import type { StepOptions, Verb } from '../algorithms/step-options.ts'
import { type QuotaError, StoreError } from '../common/errors.ts'
import type { Taken } from '../kernels/kernel.ts'
import type { Batches, CallDeadline, PolicyCheck, StoreCalls, StoreConfig, StoreResult } from '../policies/policy.ts'
import { configOf } from '../policies/policy-of.ts'
import { SYNC_CALLS } from '../policies/sync-calls.ts'
import { answerOf, takesFor } from '../policies/takes.ts'
import { checkDeleted, checkTaken } from '../stores/answers.ts'
import type { Take } from '../stores/store.ts'
import { breakerOf } from './breaker.ts'
import { deadlineIn, unlessExpired } from './deadline.ts'
import { fallBack } from './failure-modes.ts'
import { lateAnswerTo, lateUnits, NONE_USED } from './late-units.ts'
import { localOf } from './local-count.ts'
import { localStoreOf } from './local-store.ts'
import { deleteFrom, takeEachFrom, takeFrom } from './store-call.ts'
import { TimedCall } from './timed-call.ts'

/** The calls of a store that answers late, or never: in time or not at all, and what was taken late is refunded. */
export const REMOTE_CALLS: StoreCalls = {
  decide(checks, verb, stepOptions, given) {
    const config = configOf(checks)
    const deadline = given ?? (checks.length === 1 ? deadlineIn(config.deadline) : deadlineFrom(checks))
    return breakerOf(config.store).call(new DecideCall(config, checks, verb, stepOptions, deadline))
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
  shareOf: shareOfQuota,
  localOf,
}

/** Decides checks by the store, or by their failure modes. */
class DecideCall extends TimedCall<readonly Taken[], StoreResult> {
  readonly #checks: readonly PolicyCheck[]
  readonly #verb: Verb
  readonly #stepOptions: StepOptions | undefined
  readonly #takes: readonly Take[]

  constructor(
    { store, logger }: StoreConfig,
    checks: readonly PolicyCheck[],
    verb: Verb,
    stepOptions: StepOptions | undefined,
    deadline: CallDeadline,
  ) {
    const takes = takesFor(checks, verb, stepOptions)
    super(store, takes[0] as Take, deadline, logger)
    this.#checks = checks
    this.#verb = verb
    this.#stepOptions = stepOptions
    this.#takes = takes
  }

  send(): Promise<readonly Taken[]> {
    return this.store.take(this.#takes, undefined, this.deadline)
  }

  read(answer: readonly Taken[]): StoreResult {
    return answerOf(this.#checks, this.#takes, checkTaken(answer, this.#takes))
  }

  override fallBack(error: StoreError | QuotaError): Promise<StoreResult> {
    return fallBack(error, this.#checks, {
      verb: this.#verb,
      countBy: (local) => SYNC_CALLS.decide(local, this.#verb, this.#stepOptions) as StoreResult,
      readLate: lateAnswerTo(this.#checks, this.#takes),
    })
  }
}

function deadlineFrom(checks: readonly PolicyCheck[], startMs?: number): CallDeadline {
  let span = configOf(checks).deadline
  for (const { policy } of checks) span = Math.min(span, policy.storeConfig.deadline)
  return deadlineIn(span, startMs)
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
