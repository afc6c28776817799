import { acquireInOrder, deadlines } from './acquire-in-order.ts'
import { merge } from './decide.ts'
import type { Decision } from './decision.ts'
import { answerOrFallBack } from './fallback.ts'
import { all, andThen, type MaybePromise } from './maybe-promise.ts'
import { groupByStore, type PolicyCheck } from './policy.ts'
import { spillOver } from './spill.ts'
import {
  type Acquisition,
  answerSingle,
  answerTo,
  rollbackResult,
  type StoreResult,
  settleResult,
  takesFor,
} from './store-result.ts'
import type { StepOptions, Verb } from './verbs.ts'

export type { Acquisition } from './store-result.ts'

/**
 * Puts asks to their stores, all or none of them. If one is denied that has a spill policy, that is asked in its place:
 * denied asks have consumed nothing.
 */
export function acquire(
  verb: Verb,
  checks: readonly PolicyCheck[],
  stepOptions?: StepOptions,
): MaybePromise<Acquisition> {
  const acquisition = acquireOnce(verb, checks, stepOptions)
  if (!checks.some(hasSpill) || verb === 'refund' || verb === 'charge') return acquisition
  return andThen(acquisition, (first) => spillOver(first, checks, (others) => acquireOnce(verb, others, stepOptions)))
}

const hasSpill = ({ spill }: PolicyCheck): boolean => spill !== undefined

/**
 * Puts asks to their stores, all or none of them, and answers at once if the stores can. One store takes all or none by
 * itself. Several are asked in turn, and when one refuses or fails, those before it are given back what they took; so
 * for a moment others may find less there than there is.
 */
function acquireOnce(verb: Verb, checks: readonly PolicyCheck[], stepOptions?: StepOptions): MaybePromise<Acquisition> {
  const alone = answerSingle(checks, verb, stepOptions)
  if (alone !== undefined) return alone
  const groups = groupByStore(checks)
  if (groups.length === 1) {
    return andThen(answerOrFallBack(checks, verb, stepOptions), (result) => acquisitionOf(checks, [result]))
  }
  const deadlineFor = deadlines()
  const answer = (group: readonly PolicyCheck[]): MaybePromise<StoreResult> =>
    answerOrFallBack(group, verb, stepOptions, deadlineFor(group))
  const peek = (group: readonly PolicyCheck[]): MaybePromise<StoreResult> =>
    answerTo(group, takesFor(group, 'peek', stepOptions))
  const answers = verb === 'consume' ? acquireInOrder(groups, answer, peek, deadlineFor) : all(groups.map(answer))
  return andThen(answers, (answered) => acquisitionOf(checks, answered))
}

/** The answer alone. */
export const decideNow = (verb: Verb, checks: readonly PolicyCheck[]): MaybePromise<Decision> =>
  andThen(acquire(verb, checks), ({ decision }) => decision)

/** Corrects a booking to what it really cost: what is left over goes back, what is missing is charged. */
export async function settleAcquisition(
  { decision, results }: Acquisition,
  actualOf: (check: PolicyCheck) => number,
): Promise<void> {
  if (decision.allowed) await Promise.all(results.map((result) => settleResult(result, actualOf)))
}

/** Gives all of a booking back. What a failing store keeps comes back with time. */
export async function rollback({ decision, results }: Acquisition): Promise<void> {
  if (decision.allowed) await all(results.map((result) => rollbackResult(result)))
}

function acquisitionOf(checks: readonly PolicyCheck[], results: readonly StoreResult[]): Acquisition {
  const [only, ...others] = results
  if (only !== undefined && others.length === 0) {
    const [decision, ...rest] = only.decisions as readonly [Decision, ...Decision[]]
    return { checks: only.checks, results, decision: rest.length === 0 ? decision : merge(only.decisions) }
  }
  const found = new Map(
    results.flatMap(({ checks, decisions }) => checks.map((check, i) => [check, decisions[i] as Decision])),
  )
  const answered = checks.filter((check) => found.has(check))
  return { checks: answered, results, decision: merge(answered.map((check) => found.get(check) as Decision)) }
}
