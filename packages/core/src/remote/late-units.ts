import type { StoreError } from '../common/errors.ts'
import type { ActualOf, FailingCall, PolicyCheck, TakenUnits } from '../policies/policy.ts'
import { configOf } from '../policies/policy-of.ts'
import { correctionsOf } from '../policies/takes.ts'
import { areTaken } from '../stores/answers.ts'
import type { Take } from '../stores/store.ts'
import { breakerOf } from './breaker.ts'
import type { Substitute } from './substitute.ts'

/** Reads the late answer to takes of checks. */
export const lateAnswerTo =
  (checks: readonly PolicyCheck[], takes: readonly Take[]): FailingCall['readLate'] =>
  (answer) =>
    areTaken(answer, takes) && answer.every(({ allowed }) => allowed) ? { checks, taken: answer } : undefined

/** Units that a store takes after the call was reported as failed. They are corrected as soon as it answers. */
export interface LateUnits extends Substitute {
  settle(actualOf: ActualOf): void
}

/**
 * The units that a call takes late. Their corrections bypass the circuit, which the timeout may have opened: the store has just
 * answered.
 */
export const lateUnits = ({ late }: StoreError, readLate: FailingCall['readLate']): LateUnits => ({
  decisionOf: () => undefined,
  settle(actualOf) {
    void late?.then((answer) => {
      const units = readLate(answer)
      const takes = units === undefined ? [] : allCorrectionsOf(units, actualOf)
      if (units && takes.length > 0) breakerOf(configOf(units.checks).store).sendRefund(takes)
    })
  },
})

/** The actual cost of what is refunded whole. */
export const NONE_USED: ActualOf = () => 0

const allCorrectionsOf = (units: TakenUnits, actualOf: ActualOf): readonly Take[] => [
  ...correctionsOf(units, actualOf, 'refund').takes,
  ...correctionsOf(units, actualOf, 'charge').takes,
]
