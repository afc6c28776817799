import type { Decision } from '../algorithms/decision.ts'
import { merge } from '../algorithms/merge.ts'
import { isShown } from '../algorithms/penalty/block-list.ts'
import { QuotaError } from '../common/errors.ts'
import { all, andThen, type MaybePromise } from '../common/maybe-promise.ts'
import { spanning, type Taken } from '../kernels/kernel.ts'
import { watchThresholds } from '../policies/acquisition.ts'
import { rollbackResult } from '../policies/correct.ts'
import { decideInOrder, groupByStore } from '../policies/in-order.ts'
import type { Batches, CallDeadline, PolicyCheck, StoreResult, TakenUnits } from '../policies/policy.ts'
import { configOf } from '../policies/policy-of.ts'
import { answerOf, takesFor } from '../policies/takes.ts'
import { areTaken } from '../stores/answers.ts'
import { isSync } from '../stores/store-kinds.ts'

/** The decision of `consumeUpTo`: denied if nothing was consumed. `cost` is the number of units requested. */
export interface UpToDecision<Name extends string = string> extends Decision<Name> {
  /** Units that were consumed, from 0 to `cost`. */
  readonly consumed: number
}

/**
 * Sizes that add up to `units`, each at most one more than the sum of those after it. Taken in order, each if it fits, they
 * consume as many units as fit, from 0 to `units`, with any algorithm and with several policies.
 */
export function sizesUpTo(units: number): readonly number[] {
  const sizes: number[] = []
  for (let left = units; left > 0; left = Math.floor(left / 2)) sizes.push(Math.ceil(left / 2))
  return sizes
}

/** Consumes as many units as all policies have, up to the common cost of the checks. */
export function consumeUpToOf(checks: readonly PolicyCheck[]): MaybePromise<UpToDecision> {
  const [{ cost }] = checks as readonly [PolicyCheck]
  // A quota without units denies one.
  let units = Math.max(Math.min(cost, ...checks.map(({ policy }) => policy.quota.limit)), 1)
  const decide = (group: readonly PolicyCheck[], deadline?: CallDeadline): MaybePromise<StoreResult> =>
    andThen(decideUpTo(costing(group, units), deadline), (result) => {
      units = (result.checks[0] as PolicyCheck).cost
      return result
    })
  const decided = decideInOrder(groupByStore(checks), decide, (group) => costing(group, 1), PREPAID)
  const trim = (result: StoreResult): MaybePromise<StoreResult> => (isAllowed(result) ? trimmed(result, units) : result)
  return andThen(decided, (results) =>
    andThen(all(results.every(isAllowed) ? results.map(trim) : results), (final) => decisionOf(checks, final, units)),
  )
}

const PREPAID = { prepaid: true }

const costing = (checks: readonly PolicyCheck[], cost: number): readonly PolicyCheck[] =>
  checks.map((check) => ({ ...check, cost }))

const isAllowed = ({ decisions }: Pick<StoreResult, 'decisions'>): boolean => decisions.every(({ allowed }) => allowed)

/** Takes as many units as fit from one store, in one step. With another failure mode than `'local'`, it is all or nothing. */
function decideUpTo(checks: readonly PolicyCheck[], deadline: CallDeadline | undefined): MaybePromise<StoreResult> {
  const { store, calls } = configOf(checks)
  if (!isSync(store) && !store.takeEach) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      'consumeUpTo: this store takes one batch at a time. Call consume(key, cost), or use a store with takeEach, such as memoryStore().',
    )
  }
  const sizes = sizesUpTo(costOf(checks))
  const batches = batchesOf(checks, sizes)
  const answers = calls.takeEach(checks, batches, deadline)
  if (!(answers instanceof Promise)) return sum(checks, sizes, answers)
  return answers.then(
    (taken) => sum(checks, sizes, taken),
    async (error: unknown) => {
      const result = await calls.fallBack(error, checks, {
        verb: 'consume',
        countBy: (local) => decideUpTo(local, undefined) as StoreResult,
        readLate: (late) => (areAllTaken(late, batches) ? takenOf(sum(checks, sizes, late)) : undefined),
      })
      // Counted in this process, it has as many units as that had.
      const [{ cost, degraded }] = result.decisions as readonly [Decision]
      return degraded?.action === 'local' ? { ...result, checks: costing(result.checks, cost) } : result
    },
  )
}

const costOf = ([check]: readonly PolicyCheck[]): number => (check as PolicyCheck).cost

const batchesOf = (checks: readonly PolicyCheck[], sizes: readonly number[]): Batches =>
  sizes.map((size) => takesFor(costing(checks, size), 'consume', PREPAID))

const areAllTaken = (late: unknown, batches: Batches): late is readonly (readonly Taken[])[] =>
  Array.isArray(late) && batches.every((takes, i) => areTaken(late[i], takes))

const takenOf = (answer: StoreResult): TakenUnits | undefined => (isAllowed(answer) ? answer : undefined)

/** The sum of all batches as one take; the denial of a single unit if nothing was taken. */
function sum(
  checks: readonly PolicyCheck[],
  sizes: readonly number[],
  answers: readonly (readonly Taken[])[],
): StoreResult {
  const fits = answers.map((taken) => taken.every(({ allowed }) => allowed))
  const units = sizes.reduce((total, size, i) => total + (fits[i] ? size : 0), 0)
  // The last of the sizes is one unit.
  const [first, last] = [answers[fits.indexOf(true)] ?? answers.at(-1), answers.at(fits.lastIndexOf(true))]
  const consumed = costing(checks, Math.max(units, 1))
  const taken = checks.map((_, i) => spanning(first?.[i] as Taken, last?.[i] as Taken))
  return answerOf(consumed, takesFor(consumed, 'consume', PREPAID), taken)
}

/** Refunds the units that a store has consumed beyond `units`, the most that a later store had. */
function trimmed(result: StoreResult, units: number): MaybePromise<StoreResult> {
  const checks = costing(result.checks, units)
  const over = (result.checks[0] as PolicyCheck).cost - units
  if (over === 0) return result
  const { taken, decisions, fallback } = result
  if (fallback) return fallback.settle(() => units).then(() => ({ ...result, checks }))
  const refunded = rollbackResult({ checks: costing(result.checks, over), decisions, taken })
  return andThen(refunded, (left) => ({ checks, decisions: left?.decisions ?? decisions, taken }))
}

function decisionOf(checks: readonly PolicyCheck[], results: readonly StoreResult[], units: number): UpToDecision {
  const [{ cost }] = checks as readonly [PolicyCheck]
  const answered = results.flatMap((result) =>
    result.checks.map(({ policy }, i) => ({ policy, decision: result.decisions[i] })),
  )
  const shown = checks.flatMap((check) => {
    const { decision } = answered.find((each) => each.policy === check.policy) ?? {}
    return decision && isShown(check.policy.quota, decision) ? [{ check, decision: { ...decision, cost } }] : []
  })
  const decisions = shown.map(({ decision }) => decision)
  const decision = merge(decisions)
  watchThresholds({ checks: shown.map(({ check }) => check), decision })
  return { ...decision, consumed: decision.allowed ? units : 0 }
}
