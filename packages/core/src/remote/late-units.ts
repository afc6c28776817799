import { correctionsOf, refundsOf, type TakenUnits } from '../checks/takes.ts'
import type { StoreError } from '../common/errors.ts'
import { type ActualOf, configOf, type PolicyCheck } from '../policies/policy.ts'
import { areTaken } from '../stores/answers.ts'
import type { Take } from '../stores/store.ts'
import { breakerOf } from './breaker.ts'
import type { Substitute } from './substitute.ts'

/** Reads what a late answer took; undefined if it took nothing, or is invalid: nothing has checked it yet. */
export type ReadLate = (answer: unknown) => TakenUnits | undefined

/** Reads the late answer to takes of checks. */
export const lateAnswerTo =
  (checks: readonly PolicyCheck[], takes: readonly Take[]): ReadLate =>
  (answer) =>
    areTaken(answer, takes) && answer.every(({ allowed }) => allowed) ? { checks, taken: answer } : undefined

/** Units that a store takes after the call was reported as failed. They are corrected as soon as it answers. */
export interface LateUnits extends Substitute {
  rollback(): void
}

/** The units that a call takes late. */
export const lateUnits = (error: StoreError, readLate: ReadLate): LateUnits => ({
  decisionOf: () => undefined,
  rollback: () => refundLate(error, readLate),
  settle: (actualOf) => correctLate(error, readLate, (units) => allCorrectionsOf(units, actualOf)),
})

/** Refunds all units that a store takes late. */
export const refundLate = (error: StoreError, readLate: ReadLate): void => correctLate(error, readLate, refundsOf)

const allCorrectionsOf = (units: TakenUnits, actualOf: ActualOf): readonly Take[] => [
  ...correctionsOf(units, actualOf, 'refund').takes,
  ...correctionsOf(units, actualOf, 'charge').takes,
]

/** Corrections bypass the circuit, which the timeout may have opened: the store has just answered. */
function correctLate(
  { late }: StoreError,
  readLate: ReadLate,
  corrections: (units: TakenUnits) => readonly Take[],
): void {
  void late?.then((answer) => {
    const units = readLate(answer)
    const takes = units === undefined ? [] : corrections(units)
    if (units && takes.length > 0) breakerOf(configOf(units.checks).store).sendRefund(takes)
  })
}
