import { andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Decision } from '../decisions/decision.ts'
import { merge } from '../decisions/merge.ts'
import {
  type Acquisition,
  type CallDeadline,
  configOf,
  type PolicyCheck,
  type StoreResult,
} from '../policies/policy.ts'
import { isShown } from '../quotas/block-list.ts'
import type { StepOptions, Verb } from '../steps/step-options.ts'
import { needsUnits } from '../steps/verbs.ts'
import { decideAll, decideInOrder, groupByStore } from './in-order.ts'
import { spillOver } from './spill.ts'
import { consumePrepared } from './sync-calls.ts'

/**
 * Runs a verb on all checks, all-or-nothing. If a check with a spill policy is denied, its spill policy is checked instead:
 * a denied acquisition has consumed nothing.
 */
export function acquire(
  verb: Verb,
  checks: readonly PolicyCheck[],
  stepOptions?: StepOptions,
): MaybePromise<Acquisition> {
  const [only] = checks
  if (checks.length === 1 && only?.spill === undefined && only?.policy.storeConfig.thresholds === undefined)
    return acquireOne(verb, checks, stepOptions)
  const acquisition = acquireOnce(verb, checks, stepOptions)
  const final =
    !checks.some(hasSpill) || !needsUnits(verb)
      ? acquisition
      : andThen(acquisition, (first) => spillOver(first, checks, (others) => acquireOnce(verb, others, stepOptions)))
  if (!checks.some(isWatched) || verb === 'refund' || verb === 'peek') return final
  return andThen(final, (known) => {
    watchThresholds(known.checks, known.decision)
    return known
  })
}

/** Runs a verb on one check. */
function acquireOne(verb: Verb, checks: readonly PolicyCheck[], stepOptions?: StepOptions): MaybePromise<Acquisition> {
  const prepared = verb === 'consume' && stepOptions === undefined ? consumePrepared(checks) : undefined
  if (prepared !== undefined) return prepared
  const result = configOf(checks).calls.decide(checks, verb, stepOptions)
  return result instanceof Promise ? result.then(acquiredBy) : acquiredBy(result)
}

const acquiredBy = (result: StoreResult): Acquisition => shownOf(result.checks, result.decisions, [result])

const isWatched = ({ policy }: PolicyCheck): boolean => policy.storeConfig.thresholds !== undefined
const hasSpill = ({ spill }: PolicyCheck): boolean => spill !== undefined

/**
 * Runs a verb on all checks, all-or-nothing, and in the same tick if all stores are in-memory stores. One store is atomic by
 * itself. Several are called one after the other, and if one denies or fails, those before it are rolled back: for a moment,
 * other callers may find fewer units than are available.
 */
function acquireOnce(verb: Verb, checks: readonly PolicyCheck[], stepOptions?: StepOptions): MaybePromise<Acquisition> {
  if (checks.length === 1) return acquireOne(verb, checks, stepOptions)
  const groups = groupByStore(checks)
  const decide = (group: readonly PolicyCheck[], deadline?: CallDeadline): MaybePromise<StoreResult> =>
    configOf(group).calls.decide(group, verb, stepOptions, deadline)
  if (groups.length === 1) return andThen(decide(checks), acquiredBy)
  const results =
    verb === 'consume' ? decideInOrder(groups, decide, (group) => group, stepOptions) : decideAll(groups, decide)
  return andThen(results, (known) => acquisitionOf(checks, known))
}

/** Reports the decisions of checks to the `onThreshold` of their limiters, unless nothing was consumed. */
export function watchThresholds(checks: readonly PolicyCheck[], decision: Decision): void {
  if (!decision.allowed) return
  const decisions = decision.policies ?? [decision]
  for (const [i, { policy, key }] of checks.entries()) {
    const each = decisions[i]
    if (each !== undefined) policy.storeConfig.thresholds?.(policy, key, each)
  }
}

/** The decision alone. */
export const decideNow = (verb: Verb, checks: readonly PolicyCheck[]): MaybePromise<Decision> =>
  andThen(acquire(verb, checks), ({ decision }) => decision)

function acquisitionOf(checks: readonly PolicyCheck[], results: readonly StoreResult[]): Acquisition {
  const [only] = results
  if (only !== undefined && results.length === 1) return acquiredBy(only)
  const found = new Map(
    results.flatMap(({ checks, decisions }) => checks.map((check, i) => [check, decisions[i] as Decision])),
  )
  const answered = checks.filter((check) => found.has(check))
  const decisions = answered.map((check) => found.get(check) as Decision)
  return shownOf(answered, decisions, results)
}

/** The acquisition of these checks, but for block lists of keys that are not blocked. */
function shownOf(
  checks: readonly PolicyCheck[],
  decisions: readonly Decision[],
  results: readonly StoreResult[],
): Acquisition {
  if (decisions.length === 1) return { checks, results, decision: decisions[0] as Decision }
  const shown = (_: unknown, i: number): boolean =>
    isShown((checks[i] as PolicyCheck).policy.quota, decisions[i] as Decision)
  if (decisions.every(shown)) return { checks, results, decision: merge(decisions) }
  return shownOf(checks.filter(shown), decisions.filter(shown), results)
}
