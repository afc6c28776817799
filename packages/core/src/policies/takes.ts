import { decider, stepFor } from '../algorithms/algorithm.ts'
import type { Decide, Decision } from '../algorithms/decision.ts'
import type { StepOptions, Verb } from '../algorithms/step-options.ts'
import { maxCharge } from '../algorithms/verbs.ts'
import { andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Step, Taken } from '../kernels/kernel.ts'
import type { Take } from '../stores/store.ts'
import type { Acquisition, ActualOf, PolicyCheck, StoreAnswer, TakenUnits } from './policy.ts'
import { configOf } from './policy-of.ts'

/** The takes of a verb on checks. */
export const takesFor = (checks: readonly PolicyCheck[], verb: Verb, stepOptions?: StepOptions): readonly Take[] =>
  checks.map((check) => takeFor(check, verb, stepOptions))

const takeFor = (check: PolicyCheck, verb: Verb, stepOptions?: StepOptions): Take => ({
  policy: check.policy.name,
  key: check.key,
  step: stepOf(check, verb, stepOptions),
})

const stepOf = ({ policy, cost }: PolicyCheck, verb: Verb, stepOptions?: StepOptions): Step =>
  verb === 'consume' && stepOptions === undefined
    ? policy.steps.costing(cost).step
    : stepFor(policy.quota, verb, cost, stepOptions)

/**
 * The answer to one check, which is all that a request with one policy acquires. Its lists are made when they are needed: few
 * requests are corrected.
 */
export class SingleAnswer implements StoreAnswer, Acquisition {
  readonly checks: readonly PolicyCheck[]
  readonly decision: Decision
  readonly #taken: Taken

  constructor(checks: readonly PolicyCheck[], decision: Decision, taken: Taken) {
    this.checks = checks
    this.decision = decision
    this.#taken = taken
  }

  get decisions(): readonly [Decision] {
    return [this.decision]
  }

  get taken(): readonly [Taken] {
    return [this.#taken]
  }

  get results(): readonly [StoreAnswer] {
    return [this]
  }
}

/** What a store has taken, with the decision of each check. */
export function answerOf(checks: readonly PolicyCheck[], takes: readonly Take[], taken: readonly Taken[]): StoreAnswer {
  const [only] = checks
  if (only !== undefined && checks.length === 1) {
    const [one] = taken as readonly [Taken]
    return new SingleAnswer(checks, deciderOf(only, (takes[0] as Take).step)(one), one)
  }
  const decisions = checks.map((check, i) => deciderOf(check, (takes[i] as Take).step)(taken[i] as Taken))
  return { checks, decisions, taken }
}

const deciderOf = ({ policy: { name, quota, steps }, cost }: PolicyCheck, step: Step): Decide =>
  step === steps.one.step ? steps.one.decide : decider(name, quota, cost, step)

/** The store's answer to a verb on checks. Rejects with a `StoreError` if the store fails. */
export function answerTo(
  checks: readonly PolicyCheck[],
  verb: Verb,
  stepOptions?: StepOptions,
): MaybePromise<StoreAnswer> {
  const takes = takesFor(checks, verb, stepOptions)
  return andThen(configOf(checks).calls.take(checks, takes), (taken) => answerOf(checks, takes, taken))
}

/** The refunds of all units. */
export const refundsOf = ({ checks, taken }: TakenUnits): readonly Take[] =>
  checks.map((check, i) => takeFor(check, 'refund', { original: taken[i] as Taken }))

/** The refunds of the surplus, or the charges of the deficit. */
export function correctionsOf(
  { checks, taken }: TakenUnits,
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
