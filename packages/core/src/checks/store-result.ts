import { decide, stepFor } from '../algorithms/algorithm.ts'
import { StoreError } from '../common/errors.ts'
import { andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Decision } from '../decisions/decision.ts'
import { copyOf, type Step, type Taken } from '../kernels/kernel.ts'
import type { PreparedStep } from '../policies/consume-steps.ts'
import { type ActualOf, configOf, type PolicyCheck } from '../policies/policy.ts'
import type { StepOptions, Verb } from '../steps/step-options.ts'
import { maxCharge } from '../steps/verbs.ts'
import { breakerOf } from '../stores/breaker.ts'
import { type CallDeadline, deadlineIn, unlessExpired } from '../stores/deadline.ts'
import { isSync, type PreparingStore, preparesTakes, type Take } from '../stores/store.ts'
import { areTaken, takeFrom } from '../stores/store-call.ts'

/** The result of the checks of one store: its answer, or the result of the fallback. */
export type StoreResult = StoreAnswer | FallbackResult

export interface StoreAnswer {
  readonly checks: readonly PolicyCheck[]
  readonly decisions: readonly Decision[]
  readonly taken: readonly Taken[]
}

/** Decisions without the store. */
export interface FallbackResult {
  readonly checks: readonly PolicyCheck[]
  readonly decisions: readonly Decision[]
  readonly taken?: never
  /** Refunds the units that the fallback consumed, for a request that is denied after all. */
  readonly rollback: () => Promise<Pick<StoreResult, 'checks' | 'decisions'>>
  /** Corrects the units that the fallback consumed to the actual cost. */
  readonly settle: (actualOf: ActualOf) => Promise<void>
}

/** The checks of a request with their results: enough to refund exactly the units that were consumed. */
export interface Acquisition {
  /** The checks that have a decision, in their order. */
  readonly checks: readonly PolicyCheck[]
  readonly decision: Decision
  readonly results: readonly StoreResult[]
}

/** The takes of a verb on checks. */
export const takesFor = (checks: readonly PolicyCheck[], verb: Verb, stepOptions?: StepOptions): readonly Take[] =>
  checks.map((check) => takeFor(check, verb, stepOptions))

export const takeFor = (check: PolicyCheck, verb: Verb, stepOptions?: StepOptions): Take => ({
  policy: check.policy.name,
  key: check.key,
  step: stepOf(check, verb, stepOptions),
})

const stepOf = ({ policy, cost }: PolicyCheck, verb: Verb, stepOptions?: StepOptions): Step =>
  verb === 'consume' && stepOptions === undefined
    ? policy.steps.costing(cost).step
    : stepFor(policy.quota, verb, cost, stepOptions)

/** Consumes units by the prepared takes of one in-memory store; undefined if it has none, or a policy has two keys. */
export function answerPrepared(checks: readonly PolicyCheck[]): StoreAnswer | undefined {
  const { policy, cost, key } = checks[0] as PolicyCheck
  const store = policy.storeConfig.store as PreparingStore
  if (checks.length === 1) {
    const { take, decide } = policy.steps.costing(cost)
    if (take === undefined) return undefined
    const taken = take.take(key, store.clock())
    return { checks, decisions: [decide(taken)], taken: [copyOf(taken)] }
  }
  if (!preparesTakes(store) || !areApart(checks)) return undefined
  const now = store.clock()
  const consumed = checks.map(({ policy, cost }) => policy.steps.costing(cost) as PreparedStep)
  let allowed = true
  for (let i = 0; i < checks.length; i++) {
    allowed = (consumed[i] as PreparedStep).take.look((checks[i] as PolicyCheck).key, now) && allowed
  }
  const taken = consumed.map(({ take }) => copyOf(take.commit(allowed)))
  return { checks, decisions: consumed.map(({ decide }, i) => decide(taken[i] as Taken)), taken }
}

const areApart = (checks: readonly PolicyCheck[]): boolean =>
  checks.every(({ policy }, i) => checks.findIndex((other) => other.policy.name === policy.name) === i)

/** Sends checks of one store to it, and decides by its answers. */
export function answerTo(
  checks: readonly PolicyCheck[],
  takes: readonly Take[],
  deadline?: CallDeadline,
): MaybePromise<StoreAnswer> {
  return andThen(takenFrom(checks, takes, deadline), (taken) => storeAnswer(checks, takes, taken))
}

/** The results of a store's takes, with the decision of each check. */
export function storeAnswer(
  checks: readonly PolicyCheck[],
  takes: readonly Take[],
  taken: readonly Taken[],
): StoreAnswer {
  const decisions = checks.map(({ policy, cost }, i) =>
    decide(policy.name, policy.quota, cost, (takes[i] as Take).step, taken[i] as Taken),
  )
  return { checks, decisions, taken }
}

/** The earliest deadline of the policies of one store, for a call that began at `startMs`. */
export const deadlineOf = (checks: readonly PolicyCheck[], startMs?: number): CallDeadline =>
  deadlineIn(Math.min(...checks.map(({ policy }) => policy.storeConfig.deadline)), startMs)

function takenFrom(
  checks: readonly PolicyCheck[],
  takes: readonly Take[],
  deadline?: CallDeadline,
): MaybePromise<readonly Taken[]> {
  const { store, logger } = configOf(checks)
  if (isSync(store)) return store.takeSync(takes)
  const until = deadline ?? deadlineOf(checks)
  return takeFrom(store, takes, until, logger)
}

/**
 * Refunds units. A refund that was not sent is queued until the store answers again. One that was sent is never sent again,
 * because it may have been applied: it is counted as dropped if it fails. Rejects if the refund is not applied yet.
 */
async function refundTo(checks: readonly PolicyCheck[], takes: readonly Take[]): Promise<StoreAnswer> {
  try {
    return await answerTo(checks, takes)
  } catch (error) {
    if (error instanceof StoreError) breakerOf(configOf(checks).store).refundFailed(takes, error)
    throw error
  }
}

export const refundsOf = ({ checks, taken }: Pick<StoreAnswer, 'checks' | 'taken'>): readonly Take[] =>
  checks.map((check, i) => takeFor(check, 'refund', { original: taken[i] as Taken }))

/** Rolls a result back, and returns the result after the refund; undefined if it is not known by the deadline. */
export function rollbackResult(result: StoreResult, deadline?: CallDeadline): MaybePromise<StoreResult | undefined> {
  if (result.taken === undefined) return result.rollback().then((undone) => ({ ...result, ...undone }))
  const { checks } = result
  if (isSync(configOf(checks).store)) return answerTo(checks, refundsOf(result))
  const refunded = refundTo(checks, refundsOf(result))
  return unlessExpired(refunded, deadline ?? deadlineOf(checks))
}

/**
 * Corrects units that a store takes after the call was reported as failed: refunds all of them, unless `corrections` returns
 * other takes. They bypass the circuit, which the timeout may have opened: the store has just answered.
 */
export function correctLate(
  { late }: StoreError,
  checks: readonly PolicyCheck[],
  corrections: (answer: Pick<StoreAnswer, 'checks' | 'taken'>) => readonly Take[] = refundsOf,
): void {
  void late?.then((taken) => {
    // What a store's own error brings is not checked yet.
    if (!areTaken(taken, takesFor(checks, 'consume')) || !taken.every(({ allowed }) => allowed)) return
    const takes = corrections({ checks, taken })
    if (takes.length > 0) breakerOf(configOf(checks).store).sendRefund(takes)
  })
}

/** Corrects a result to the actual cost: refunds the surplus, charges the deficit. */
export async function settleResult(result: StoreResult, actualOf: ActualOf): Promise<void> {
  if (result.taken === undefined) return result.settle(actualOf)
  const refunds = correctionsOf(result, actualOf, 'refund')
  const charges = correctionsOf(result, actualOf, 'charge')
  // Together: a refund that fails is no reason not to charge.
  await Promise.all([
    refunds.takes.length > 0 && refundTo(refunds.checks, refunds.takes),
    charges.takes.length > 0 && chargeTo(charges.checks, charges.takes),
  ])
}

/** The refunds of the surplus, or the charges of the deficit. */
export function correctionsOf(
  { checks, taken }: Pick<StoreAnswer, 'checks' | 'taken'>,
  actualOf: ActualOf,
  verb: 'refund' | 'charge',
): { readonly checks: readonly PolicyCheck[]; readonly takes: readonly Take[] } {
  const sign = verb === 'refund' ? 1 : -1
  const due = checks
    .map((check, i) => ({ check, cost: (check.cost - actualOf(check)) * sign, original: taken[i] as Taken }))
    .filter(({ cost }) => cost > 0)
    .map(({ check, cost, original }) => ({
      check: { ...check, cost: Math.min(cost, maxCharge(check.policy.quota)) },
      original,
    }))
  return {
    checks: due.map(({ check }) => check),
    takes: due.map(({ check, original }) => takeFor(check, verb, { original })),
  }
}

/** Charges units. If the charge is reported as failed and applied later, it is refunded. */
async function chargeTo(checks: readonly PolicyCheck[], takes: readonly Take[]): Promise<void> {
  try {
    await answerTo(checks, takes)
  } catch (error) {
    if (error instanceof StoreError) correctLate(error, checks)
    throw error
  }
}
