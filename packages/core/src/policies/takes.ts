import { decider, stepFor } from '../algorithms/algorithm.ts'
import type { Decide, Decision } from '../algorithms/decision.ts'
import type { StepOptions, Verb } from '../algorithms/step-options.ts'
import { maxCharge } from '../algorithms/verbs.ts'
import { andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Micros } from '../common/time.ts'
import { copyOf, type Step, type Taken } from '../kernels/kernel.ts'
import type { Take } from '../stores/store.ts'
import type { Acquisition, ActualOf, ConsumeStep, PolicyCheck, StoreResult, TakenUnits } from './policy.ts'
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
    ? policy.costing(cost).step
    : stepFor(policy.quota, verb, cost, stepOptions)

/**
 * The answer to one check, which is all that a request with one policy acquires. Its lists are made when they are needed: few
 * requests are corrected.
 */
export class SingleResult implements StoreResult, Acquisition {
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

  get results(): readonly [StoreResult] {
    return [this]
  }
}

/** What a store has taken, with the decision of each check. */
export function answerOf(checks: readonly PolicyCheck[], takes: readonly Take[], taken: readonly Taken[]): StoreResult {
  const [only] = checks
  if (only !== undefined && checks.length === 1) {
    const [one] = taken as readonly [Taken]
    return new SingleResult(checks, deciderOf(only, (takes[0] as Take).step)(one), one)
  }
  const decisions = checks.map((check, i) => deciderOf(check, (takes[i] as Take).step)(taken[i] as Taken))
  return { checks, decisions, taken }
}

const deciderOf = ({ policy: { name, quota, oneUnit }, cost }: PolicyCheck, step: Step): Decide =>
  step === oneUnit.step ? oneUnit.decide : decider(name, quota, cost, step)

/**
 * Takes prepared steps, all or none, and decides each. `keyed` is the key of all of them, or has that of each. What the next takes
 * overwrite is copied to `kept`.
 */
export function consumeTogether(
  steps: readonly ConsumeStep[],
  keyed: string | readonly PolicyCheck[],
  now: Micros,
  kept?: Taken[],
): Decision[] {
  let allowed = true
  // Iterators and destructured elements would make this too large to inline what it calls.
  for (let i = 0; i < steps.length; i++) {
    const key = typeof keyed === 'string' ? keyed : (keyed[i] as PolicyCheck).key
    if (!(steps[i] as ConsumeStep).take.look(key, now)) allowed = false
  }
  const decisions = new Array<Decision>(steps.length)
  for (let i = 0; i < steps.length; i++) {
    const { take, decide } = steps[i] as ConsumeStep
    const taken = take.commit(allowed)
    if (kept !== undefined) kept[i] = copyOf(taken)
    decisions[i] = decide(taken)
  }
  return decisions
}

/** Consumes the units of checks by their prepared takes. */
export function answerTogether(checks: readonly PolicyCheck[], now: Micros): StoreResult {
  const taken: Taken[] = []
  const steps = checks.map(({ policy, cost }) => (cost === 1 ? policy.oneUnit : policy.costing(cost)))
  return { checks, decisions: consumeTogether(steps, checks, now, taken), taken }
}

/** The store's answer to a verb on checks. Rejects with a `StoreError` if the store fails. */
export function answerTo(
  checks: readonly PolicyCheck[],
  verb: Verb,
  stepOptions?: StepOptions,
): MaybePromise<StoreResult> {
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
    // More is charged of no take: with one, a charge of slots would renew them.
    takes: due.map(({ check, original }) => takeFor(check, verb, verb === 'refund' ? { original } : undefined)),
  }
}
