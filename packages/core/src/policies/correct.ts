import { all, andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Take } from '../stores/store.ts'
import type { Acquisition, ActualOf, CallDeadline, PolicyCheck, StoreResult } from './policy.ts'
import { configOf } from './policy-of.ts'
import { answerOf, correctionsOf, refundsOf } from './takes.ts'

/** Refunds an acquisition. If a store fails, its units refill with time. */
export async function rollback({ decision, results }: Acquisition): Promise<void> {
  if (decision.allowed) await all(results.map((result) => rollbackResult(result)))
}

/** Rolls a result back, and returns the result after the refund; undefined if it is not known by the deadline. */
export function rollbackResult(result: StoreResult, deadline?: DeadlineOf): MaybePromise<StoreResult | undefined> {
  if (result.fallback) return result.fallback.rollback().then((decisions) => ({ ...result, decisions }))
  return answerInTime('refund', result.checks, refundsOf(result), deadline)
}

type DeadlineOf = () => CallDeadline | undefined

/** The store's answer to takes of checks; undefined if it is not known by the deadline. */
export function answerInTime(
  call: 'take' | 'refund',
  checks: readonly PolicyCheck[],
  takes: readonly Take[],
  deadline?: DeadlineOf,
): MaybePromise<StoreResult | undefined> {
  const { calls } = configOf(checks)
  const taken = calls[call](checks, takes)
  const known = taken instanceof Promise && calls.inTime ? calls.inTime(taken, checks, deadline?.()) : taken
  return andThen(known, (answer) => answer && answerOf(checks, takes, answer))
}

/** Corrects an acquisition to its actual cost: refunds the surplus, charges the deficit. */
export async function settle({ decision, results }: Acquisition, actualOf: ActualOf): Promise<void> {
  if (decision.allowed) await Promise.all(results.map((result) => settleResult(result, actualOf)))
}

/** Corrects a result to the actual cost. */
export async function settleResult(result: StoreResult, actualOf: ActualOf): Promise<void> {
  if (result.fallback) return result.fallback.settle(actualOf)
  const { calls } = configOf(result.checks)
  const refunds = correctionsOf(result, actualOf, 'refund')
  const charges = correctionsOf(result, actualOf, 'charge')
  // Together: a refund that fails is no reason not to charge.
  await Promise.all([
    refunds.takes.length > 0 && calls.refund(refunds.checks, refunds.takes),
    charges.takes.length > 0 && calls.charge(charges.checks, charges.takes),
  ])
}
