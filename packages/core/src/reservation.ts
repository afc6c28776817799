import { acquire, settleAcquisition } from './acquisition.ts'
import type { Decision } from './decision.ts'
import { formatValue, QuotaError } from './errors.ts'
import type { PolicyCheck } from './policy.ts'
import { type Duration, LONGEST, type Micros, micros } from './time.ts'

/**
 * Units consumed for work whose actual cost is known later, or that may not happen. `delayMs` is how long to wait before the
 * work. The first call of a method settles it, later calls change nothing. If it is never settled, its units stay consumed.
 * Units that have refilled meanwhile are not refunded a second time.
 */
export interface Reservation extends Decision {
  /** Settles at `actual` units, 0 or more (default: the cost): refunds the surplus, or charges the deficit. */
  commit(actual?: number): Promise<void>
  /** Refunds all units. */
  cancel(): Promise<void>
}

/** Options of `reserve`. */
export interface ReserveOptions {
  /**
   * Units to consume: a whole number, 1 or more.
   * @default `1`
   */
  readonly cost?: number
  /**
   * The longest wait for the units. `0` does not wait.
   * @default no limit
   */
  readonly maxWait?: Duration
}

/** Consumes units that may be used after `delayMs`. */
export async function reserve(checks: readonly PolicyCheck[], maxWaitMicros: Micros): Promise<Reservation> {
  const acquisition = await acquire('consume', checks, { maxWaitMicros })
  let settled: Promise<void> | undefined
  const settle = (actual: number): Promise<void> => {
    settled ??= settleAcquisition(acquisition, () => actual)
    return settled
  }
  return {
    ...acquisition.decision,
    commit: async (actual = acquisition.decision.cost) => settle(checkActual(actual)),
    cancel: () => settle(0),
  }
}

/** Reads `maxWait` in microseconds. Default: no limit; 0 does not wait. */
export function maxWaitMicros(maxWait: Duration | undefined): Micros {
  if (maxWait === undefined) return LONGEST
  return maxWait === 0 ? 0 : micros(maxWait, 'maxWait')
}

/** Checks an actual cost. */
export function checkActual(actual: unknown): number {
  if (typeof actual === 'number' && Number.isSafeInteger(actual) && actual >= 0) return actual
  throw new QuotaError(
    'ERR_SPILLWAY_COST',
    `what it really cost must be a whole number of units, 0 or more; got ${formatValue(actual)}.`,
  )
}
