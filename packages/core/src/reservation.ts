import { acquire, settleAcquisition } from './acquisition.ts'
import type { Decision } from './decision.ts'
import { formatValue, QuotaError } from './errors.ts'
import type { PolicyCheck } from './policy.ts'
import { type Duration, LONGEST, type Micros, micros } from './time.ts'

/**
 * Units taken for something whose true cost, or whether it happens at all, is known later. `delayMs` tells how long to
 * wait before going ahead. Settled once, by whichever of its methods is called first; never settled, it stands as it
 * is. Units that have come back by themselves meanwhile are not given back a second time.
 */
export interface Reservation extends Decision {
  /** Settles at `actual` units, 0 or more: the rest is given back, what is missing is charged. */
  commit(actual?: number): Promise<void>
  /** Gives everything back. */
  cancel(): Promise<void>
}

/** What `reserve` takes besides the key. */
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

/** Takes units now, to go ahead with in `delayMs`. */
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

/** Reads `maxWait`: none is as long as it takes, 0 is not at all. */
export function maxWaitMicros(maxWait: Duration | undefined): Micros {
  if (maxWait === undefined) return LONGEST
  return maxWait === 0 ? 0 : micros(maxWait, 'maxWait')
}

/** Checks what something really cost. */
export function checkActual(actual: unknown): number {
  if (typeof actual === 'number' && Number.isSafeInteger(actual) && actual >= 0) return actual
  throw new QuotaError(
    'ERR_SPILLWAY_COST',
    `what it really cost must be a whole number of units, 0 or more; got ${formatValue(actual)}.`,
  )
}
