import type { Decide, Decision } from '../algorithms/decision.ts'
import type { PreparedTake } from '../algorithms/prepared-take.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import type { StepOptions, Verb } from '../algorithms/step-options.ts'
import type { MaybePromise } from '../common/maybe-promise.ts'
import type { Micros } from '../common/time.ts'
import type { Logger } from '../common/warn.ts'
import type { Step, Taken } from '../kernels/kernel.ts'
import type { Deadline, StateKey, Store, Take } from '../stores/store.ts'
import type { StoreErrorOption } from './failure-mode.ts'
import type { ThresholdWatch } from './thresholds.ts'

/** A quota under the name its states have in a store and its numbers have in headers. */
export interface Policy {
  readonly name: string
  readonly quota: Quota
  readonly storeConfig: StoreConfig
  /** The quota that this process enforces while the store does not answer. */
  readonly localQuota: Quota
  /** The step that consumes one unit. */
  readonly oneUnit: ConsumeStep
  /** The step that consumes some units. Throws a `QuotaError` if the cost is invalid. */
  costing(cost: number): ConsumeStep
}

/** A step that consumes units of a policy. */
export interface ConsumeStep {
  readonly cost: number
  readonly step: Step
  /** Turns its results into decisions. */
  readonly decide: Decide
  /** The same step, prepared: of a store that prepares takes. */
  readonly take: PreparedTake
}

/** A store, the deadline of its answers, and the failure mode. */
export interface StoreConfig {
  readonly store: Store
  /** How checks are sent to the store. */
  readonly calls: StoreCalls
  readonly deadline: Micros
  readonly onStoreError: StoreErrorOption
  /** How many processes share the quota while the store does not answer. */
  readonly replicas: number
  readonly logger: Logger
  /** Undefined without `onThreshold`. */
  readonly thresholds: ThresholdWatch | undefined
}

/** The check of one key against one policy. */
export interface PolicyCheck {
  readonly policy: Policy
  readonly key: string
  readonly cost: number
  /** The check that replaces this one if it is denied. */
  readonly spill?: PolicyCheck
  /** The denied checks that this one replaces. */
  readonly emptied?: readonly EmptyPolicy[]
}

/** A denied check whose spill policy was checked instead. */
export interface EmptyPolicy {
  readonly check: PolicyCheck
  readonly decision: Decision
}

/** Returns the actual cost of a check. */
export type ActualOf = (check: PolicyCheck) => number

/** The deadline of a call under way. */
export interface CallDeadline extends Deadline {
  atMs: number
  /** How long the caller waits. */
  readonly spanMs: number
}

/**
 * How checks are sent to a store. An in-memory store answers in the same tick, and fails never. What a remote store needs
 * besides (deadline, circuit breaker, failure modes, late refunds) comes with it. Without `deadline`, a call has the earliest
 * one of its policies.
 */
export interface StoreCalls {
  /** Decides checks: by the store or, if it fails, by their failure modes. */
  decide(
    checks: readonly PolicyCheck[],
    verb: Verb,
    stepOptions?: StepOptions,
    deadline?: CallDeadline,
  ): MaybePromise<StoreResult>
  /** Takes of the checks. Rejects with a `StoreError` if the store fails, as all others do. */
  take(checks: readonly PolicyCheck[], takes: readonly Take[]): MaybePromise<readonly Taken[]>
  /** Takes each batch, at one moment if the store can. */
  takeEach(
    checks: readonly PolicyCheck[],
    batches: Batches,
    deadline?: CallDeadline,
  ): MaybePromise<readonly (readonly Taken[])[]>
  /** Decides checks by their failure modes, as the store has failed; rethrows another error. */
  fallBack(error: unknown, checks: readonly PolicyCheck[], call: FailingCall): Promise<StoreResult>
  /** Refunds units. If the store fails, the refund may be made later. */
  refund(checks: readonly PolicyCheck[], takes: readonly Take[]): MaybePromise<readonly Taken[]>
  /** Charges units. If the store fails, none are charged later. */
  charge(checks: readonly PolicyCheck[], takes: readonly Take[]): MaybePromise<readonly Taken[]>
  /** The earliest deadline of the policies, for a call that began at `startMs`; absent of an in-memory store. */
  deadlineFrom?(checks: readonly PolicyCheck[], startMs?: number): CallDeadline
  /** The answer of a call; undefined if it is not known by the deadline, or the store fails. */
  inTime?<T>(answer: Promise<T>, checks: readonly PolicyCheck[], deadline?: CallDeadline): Promise<T | undefined>
  /** Deletes states of one key, and returns how many were stored. */
  delete(keys: readonly [StateKey, ...StateKey[]], config: CallConfig): MaybePromise<number>
  /** Deletes all states of policies, and returns how many were stored. */
  deleteAll(policies: readonly string[], store: DeletingStore): Promise<number>
  /** The quota of one of several processes while this store does not answer; absent if it always does. */
  shareOf?(quota: Quota, replicas: number): Quota
  /** The policy in the store that counts while this one does not answer; absent if it always does. */
  localOf?(policy: Policy): Policy
}

/** What a call needs to know that is not about checks. */
export type CallConfig = Pick<StoreConfig, 'store' | 'deadline' | 'logger'>

/** A store that can list its states. */
export type DeletingStore = Store & Required<Pick<Store, 'deleteAll'>>

/** Takes that are made one after the other: each batch all or none. */
export type Batches = readonly (readonly Take[])[]

/** A call that a store may fail: what it does, and how it is counted in this process instead. */
export interface FailingCall {
  readonly verb: Verb
  readonly countBy: (local: readonly PolicyCheck[]) => StoreResult
  /** Reads what a late answer took; undefined if it took nothing, or is invalid: nothing has checked it yet. */
  readonly readLate: (answer: unknown) => TakenUnits | undefined
}

/** What was taken of checks. */
export type TakenUnits = Pick<StoreResult, 'checks' | 'taken'>

/** The result of the checks of one store, or of the fallback that has decided instead. */
export interface StoreResult {
  readonly checks: readonly PolicyCheck[]
  readonly decisions: readonly Decision[]
  /** What the store has taken; nothing if it was not the one to decide. */
  readonly taken: readonly Taken[]
  /** Undefined if the store has decided. */
  readonly fallback?: Fallback
}

/** Corrects what was counted without the store. */
export interface Fallback {
  /** Refunds the units, for a request that is denied after all, and returns the decisions after that. */
  readonly rollback: () => Promise<readonly Decision[]>
  /** Corrects the units to the actual cost. */
  readonly settle: (actualOf: ActualOf) => Promise<void>
}

/** The checks of a request with their results: enough to refund exactly the units that were consumed. */
export interface Acquisition {
  /** The checks that have a decision, in their order. */
  readonly checks: readonly PolicyCheck[]
  readonly decision: Decision
  readonly results: readonly StoreResult[]
}
