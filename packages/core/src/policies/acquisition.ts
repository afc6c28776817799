import type { Decision } from '../algorithms/decision.ts'
import { merge } from '../algorithms/merge.ts'
import { isShown } from '../algorithms/penalty/block-list.ts'
import type { StepOptions, Verb } from '../algorithms/step-options.ts'
import { needsUnits } from '../algorithms/verbs.ts'
import { andThen, type MaybePromise } from '../common/maybe-promise.ts'
import { copyOf } from '../kernels/kernel.ts'
import type { PreparingStore } from '../stores/store.ts'
import { preparesTakes } from '../stores/store-kinds.ts'
import { decideAll, decideInOrder, groupByStore, isOneCall } from './in-order.ts'
import type { Acquisition, CallDeadline, PolicyCheck, StoreConfig, StoreResult } from './policy.ts'
import { configOf } from './policy-of.ts'
import { spillOver } from './spill.ts'
import { answerTogether, SingleResult } from './takes.ts'

/** Acquires checks, all or none of them. */
export type Acquire = (checks: readonly PolicyCheck[]) => MaybePromise<Acquisition>

/**
 * Plans how units of policies with these stores are consumed, when a limiter is built. Each acquisition has checks of some of the
 * policies, one of each at most. Checks of one store that prepares takes are acquired in the same tick, without its calls.
 */
export function acquirer(configs: readonly StoreConfig[], spills: boolean): Acquire {
  const store = isOneCall(configs) ? configs[0]?.store : undefined
  const isPrepared = store !== undefined && preparesTakes(store)
  return completing('consume', configs, spills, isPrepared ? acquirerOf(store) : calling('consume', configs))
}

/** Runs a verb on any checks, all-or-nothing. */
export function acquire(
  verb: Verb,
  checks: readonly PolicyCheck[],
  stepOptions?: StepOptions,
): MaybePromise<Acquisition> {
  const configs = configsOf(checks)
  const spills = checks.some(({ spill }) => spill !== undefined)
  return completing(verb, configs, spills, calling(verb, configs, stepOptions), stepOptions)(checks)
}

/** The decision alone. */
export const decideNow = (verb: Verb, checks: readonly PolicyCheck[]): MaybePromise<Decision> =>
  andThen(acquire(verb, checks), ({ decision }) => decision)

const configsOf = (checks: readonly PolicyCheck[]): readonly StoreConfig[] =>
  checks.map(({ policy }) => policy.storeConfig)

/** Acquires checks of one store by their prepared takes. */
const acquirerOf =
  (store: PreparingStore): Acquire =>
  (checks) => {
    if (checks.length > 1) return acquiredBy(answerTogether(checks, store.clock()))
    const { policy, cost, key } = checks[0] as PolicyCheck
    const { take, decide } = cost === 1 ? policy.oneUnit : policy.costing(cost)
    const taken = take.take(key, store.clock())
    return new SingleResult(checks, decide(taken), copyOf(taken))
  }

/**
 * Acquires checks by the calls of their stores. One store is atomic by itself. Several are called one after the other, and if one
 * denies or fails, those before it are rolled back: for a moment, other callers may find fewer units than are available.
 */
function calling(verb: Verb, configs: readonly StoreConfig[], stepOptions?: StepOptions): Acquire {
  const isOne = isOneCall(configs)
  const decide = (group: readonly PolicyCheck[], deadline?: CallDeadline): MaybePromise<StoreResult> =>
    configOf(group).calls.decide(group, verb, stepOptions, deadline)
  return (checks) => {
    if (isOne || checks.length === 1) {
      const result = decide(checks)
      return result instanceof Promise ? result.then(acquiredBy) : acquiredBy(result)
    }
    const groups = groupByStore(checks)
    const results =
      verb === 'consume' ? decideInOrder(groups, decide, (group) => group, stepOptions) : decideAll(groups, decide)
    return andThen(results, (known) => acquiredByAll(checks, known))
  }
}

/**
 * Completes what is acquired once, if any policy needs it. If a check with a spill policy is denied, its spill policy is checked
 * instead: a denied acquisition has consumed nothing. What is consumed in the end is reported to `onThreshold`.
 */
function completing(
  verb: Verb,
  configs: readonly StoreConfig[],
  spills: boolean,
  acquireOnce: Acquire,
  stepOptions?: StepOptions,
): Acquire {
  const isWatched = verb !== 'refund' && verb !== 'peek' && configs.some(({ thresholds }) => thresholds !== undefined)
  const maySpill = spills && needsUnits(verb)
  if (!isWatched && !maySpill) return acquireOnce
  const again: Acquire = (checks) => calling(verb, configsOf(checks), stepOptions)(checks)
  return (checks) => {
    const first = acquireOnce(checks)
    const last = maySpill ? andThen(first, (known) => spillOver(known, checks, again)) : first
    return isWatched ? andThen(last, watchThresholds) : last
  }
}

/** Reports the decisions of checks to the `onThreshold` of their limiters, unless nothing was consumed. */
export function watchThresholds<A extends Pick<Acquisition, 'checks' | 'decision'>>(known: A): A {
  const { checks, decision } = known
  if (!decision.allowed) return known
  const decisions = decision.policies ?? [decision]
  for (const [i, { policy, key }] of checks.entries()) {
    const each = decisions[i]
    if (each !== undefined) policy.storeConfig.thresholds?.(policy, key, each)
  }
  return known
}

const acquiredBy = (result: StoreResult): Acquisition =>
  result instanceof SingleResult ? result : shownOf(result.checks, result.decisions, [result])

function acquiredByAll(checks: readonly PolicyCheck[], results: readonly StoreResult[]): Acquisition {
  const found = new Map(
    results.flatMap(({ checks, decisions }) => checks.map((check, i) => [check, decisions[i] as Decision])),
  )
  const answered = checks.filter((check) => found.has(check))
  const decisions = answered.map((check) => found.get(check) as Decision)
  return shownOf(answered, decisions, results)
}

/** The acquisition of these checks, without block lists of keys that are not blocked. */
function shownOf(
  checks: readonly PolicyCheck[],
  decisions: readonly Decision[],
  results: readonly StoreResult[],
): Acquisition {
  if (decisions.length === 1) return { checks, results, decision: decisions[0] as Decision }
  const shown = (_: unknown, i: number): boolean =>
    isShown((checks[i] as PolicyCheck).policy.quota, decisions[i] as Decision)
  if (decisions.every(shown)) return { checks, results, decision: merge(decisions) }
  return { checks: checks.filter(shown), results, decision: merge(decisions.filter(shown)) }
}
