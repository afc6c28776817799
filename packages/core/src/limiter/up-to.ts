import { acquireInOrder, deadlines } from '../checks/acquire-in-order.ts'
import { watchThresholds } from '../checks/acquisition.ts'
import { fallBack, localOf } from '../checks/fallback.ts'
import {
  answerTo,
  deadlineOf,
  refundsOf,
  rollbackResult,
  type StoreAnswer,
  type StoreResult,
  settleResult,
  storeAnswer,
  takesFor,
} from '../checks/store-result.ts'
import { QuotaError, StoreError, withLate } from '../common/errors.ts'
import { all, andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Decision } from '../decisions/decision.ts'
import { merge } from '../decisions/merge.ts'
import { spanning, type Taken } from '../kernels/kernel.ts'
import { configOf, groupByStore, type PolicyCheck } from '../policies/policy.ts'
import { isShown } from '../quotas/block-list.ts'
import { breakerOf } from '../stores/breaker.ts'
import type { CallDeadline } from '../stores/deadline.ts'
import { isSync, type SyncStore, type Take } from '../stores/store.ts'
import { areTaken, takeEachFrom } from '../stores/store-call.ts'

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
export function consumeUpTo(checks: readonly PolicyCheck[]): MaybePromise<UpToDecision> {
  const [{ cost }] = checks as readonly [PolicyCheck]
  // A quota without units denies one.
  let units = Math.max(Math.min(cost, ...checks.map(({ policy }) => policy.quota.limit)), 1)
  const deadlineFor = deadlines()
  const answer = (group: readonly PolicyCheck[]): MaybePromise<StoreResult> =>
    andThen(answerUpTo(costing(group, units), deadlineFor(group)), (answered) => {
      units = (answered.checks[0] as PolicyCheck).cost
      return answered
    })
  const peek = (group: readonly PolicyCheck[]): MaybePromise<StoreResult> =>
    answerTo(costing(group, 1), takesFor(costing(group, 1), 'peek', PREPAID))
  const answers = acquireInOrder(groupByStore(checks), answer, peek, deadlineFor)
  const trim = (result: StoreResult): MaybePromise<StoreResult> => (isAllowed(result) ? trimmed(result, units) : result)
  return andThen(answers, (results) =>
    andThen(all(results.every(isAllowed) ? results.map(trim) : results), (final) => decisionOf(checks, final, units)),
  )
}

const PREPAID = { prepaid: true }

const costing = (checks: readonly PolicyCheck[], cost: number): readonly PolicyCheck[] =>
  checks.map((check) => ({ ...check, cost }))

const isAllowed = ({ decisions }: Pick<StoreResult, 'decisions'>): boolean => decisions.every(({ allowed }) => allowed)

/** Takes as many units as fit from one store, in one step. */
function answerUpTo(checks: readonly PolicyCheck[], deadline: CallDeadline | undefined): MaybePromise<StoreResult> {
  const [{ policy, cost }] = checks as readonly [PolicyCheck]
  const { store, logger } = policy.storeConfig
  const sizes = sizesUpTo(cost)
  const batches = sizes.map((size) => takesFor(costing(checks, size), 'consume', PREPAID))
  if (isSync(store)) return sum(checks, sizes, takeEachSync(store, batches))
  if (!store.takeEach) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      'consumeUpTo: this store takes one batch at a time. Call consume(key, cost), or use a store with takeEach, such as memoryStore().',
    )
  }
  const until = deadline ?? deadlineOf(checks)
  return takeEachFrom(store, batches, until, logger).then(
    (taken) => sum(checks, sizes, taken),
    (error: unknown) => {
      if (error instanceof StoreError) return fallBackUpTo(error, checks, sizes)
      throw error
    },
  )
}

/** Takes several batches in order, at one moment. */
export function takeEachSync(store: SyncStore, batches: readonly (readonly Take[])[]): readonly (readonly Taken[])[] {
  let at: number | undefined
  return batches.map((ops) => {
    const taken = store.takeSync(ops, at)
    at = taken[0]?.now
    return taken
  })
}

/** The sum of all batches as one take; the denial of a single unit if nothing was taken. */
function sum(
  checks: readonly PolicyCheck[],
  sizes: readonly number[],
  answers: readonly (readonly Taken[])[],
): StoreAnswer {
  const fits = answers.map((taken) => taken.every(({ allowed }) => allowed))
  const units = sizes.reduce((total, size, i) => total + (fits[i] ? size : 0), 0)
  // The last of the sizes is one unit.
  const [first, last] = [answers[fits.indexOf(true)] ?? answers.at(-1), answers.at(fits.lastIndexOf(true))]
  const consumed = costing(checks, Math.max(units, 1))
  const taken = checks.map((_, i) => spanning(first?.[i] as Taken, last?.[i] as Taken))
  return storeAnswer(consumed, takesFor(consumed, 'consume', PREPAID), taken)
}

/** The fallback: with `'local'`, as many units as the local store has; with other failure modes, all or nothing. */
async function fallBackUpTo(
  error: StoreError,
  checks: readonly PolicyCheck[],
  sizes: readonly number[],
): Promise<StoreResult> {
  const { store, onStoreError } = configOf(checks)
  // 'allow' counts nothing here, so that units that the store takes late are kept.
  if (onStoreError !== 'allow') {
    void error.late?.then((answers) => {
      const ops = takesFor(checks, 'consume')
      if (!Array.isArray(answers) || !sizes.every((_, i) => areTaken(answers[i], ops))) return
      const late = sum(checks, sizes, answers)
      if (isAllowed(late)) breakerOf(store).sendRefund(refundsOf(late))
    })
  }
  if (onStoreError === 'throw') throw error
  // The late answer has been dealt with.
  const withoutLate = withLate(error, () => undefined)
  if (onStoreError !== 'local') return fallBack(withoutLate, checks, 'consume')
  const local = checks.map((check) => ({ ...check, policy: localOf(check.policy) }))
  const counted = answerUpTo(local, undefined) as StoreAnswer
  const { cost } = counted.checks[0] as PolicyCheck
  const resultOf = ({ decisions }: Pick<StoreResult, 'decisions'>): Pick<StoreResult, 'checks' | 'decisions'> => ({
    checks: costing(checks, cost),
    decisions: decisions.map((each) => ({ ...each, degraded: { reason: error.reason, action: 'local' } })),
  })
  return {
    ...resultOf(counted),
    rollback: async () => resultOf((await rollbackResult(counted)) ?? counted),
    settle: (actualOf) => settleResult(counted, () => actualOf(checks[0] as PolicyCheck)),
  }
}

/** Refunds the units that a store has consumed beyond `units`, the most that a later store had. */
function trimmed(result: StoreResult, units: number): MaybePromise<StoreResult> {
  const checks = costing(result.checks, units)
  const over = (result.checks[0] as PolicyCheck).cost - units
  if (over === 0) return result
  if (result.taken === undefined) return result.settle(() => units).then(() => ({ ...result, checks }))
  const refunded = rollbackResult({ ...result, checks: costing(result.checks, over) })
  return andThen(refunded, (left) => ({ ...result, checks, decisions: left?.decisions ?? result.decisions }))
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
  const decision = decisions.length === 1 ? (decisions[0] as Decision) : merge(decisions)
  watchThresholds(
    shown.map(({ check }) => check),
    decision,
  )
  return { ...decision, consumed: decision.allowed ? units : 0 }
}
