import type { Decision } from '../algorithms/decision.ts'
import { type Duration, LONGEST, type Micros, microsOrZero } from '../common/time.ts'
import { acquire } from '../policies/acquisition.ts'
import { settle as settleAcquisition } from '../policies/correct.ts'
import type { Costs } from '../policies/costs.ts'
import type { ActualOf, PolicyCheck } from '../policies/policy.ts'

/**
 * Units consumed for work whose actual cost is known later, or that may not happen. `delayMs` is how long to wait before the
 * work. The first call of a method settles it, later calls change nothing. If it is never settled, its units stay consumed.
 * Units that have refilled meanwhile are not refunded a second time.
 */
export interface Reservation<Actual = number | Costs> extends Decision {
  /**
   * Settles at `actual` units, 0 or more: refunds the surplus, or charges the deficit. A number is for all policies;
   * `{ tokens: 812 }` settles those it names. The others, and all without `actual`, stay at their cost.
   */
  commit(actual?: Actual): Promise<void>
  /**
   * Refunds all units that no later turn relies on. So cancel several reservations from the last to the first: one in the
   * middle of a queue returns nothing while later ones stand.
   */
  cancel(): Promise<void>
}

/** Options of `reserve`. */
export interface ReserveOptions {
  /**
   * Units to consume: a whole number, 1 or more, or units by policy, such as `{ requests: 1, tokens: 4000 }`. A policy
   * that is not named costs 1, and 0 leaves it out.
   * @default `1`
   */
  readonly cost?: number | Costs
  /**
   * The longest wait for the units. `0` does not wait.
   * @default no limit
   */
  readonly maxWait?: Duration
}

/** Consumes units that may be used after `delayMs`. */
export async function reserveFor<Actual>(
  checks: readonly PolicyCheck[],
  maxWaitMicros: Micros | undefined,
  actualsOf: (actual: Actual | undefined) => ActualOf,
): Promise<Reservation<Actual>> {
  const acquisition = await acquire('consume', checks, maxWaitMicros === undefined ? undefined : { maxWaitMicros })
  let settled: Promise<void> | undefined
  const settle = (actualOf: ActualOf): Promise<void> => {
    settled ??= settleAcquisition(acquisition, actualOf)
    return settled
  }
  return {
    ...acquisition.decision,
    commit: async (actual) => settle(actualsOf(actual)),
    cancel: () => settle(() => 0),
  }
}

/** Reads `maxWait` in microseconds. Default: no limit; 0 does not wait. */
export function maxWaitMicros(maxWait: Duration | undefined): Micros {
  return maxWait === undefined ? LONGEST : microsOrZero(maxWait, 'maxWait')
}
