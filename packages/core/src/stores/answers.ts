import { formatThrown, formatValue, QuotaError, StoreError } from '../common/errors.ts'
import { type Exact, NOTHING } from '../kernels/fraction.ts'
import type { Step, Taken } from '../kernels/kernel.ts'
import type { Take } from './store.ts'

/** The numbers of a result. */
const NUMBERS: Readonly<Record<Step['kernel'], readonly string[]>> = {
  bucket: ['now', 'base', 'tat'],
  'sliding-window': ['now', 'start', 'current', 'previous'],
  'sliding-log': ['now', 'used', 'fitsAt', 'freesAt', 'emptyAt'],
  'warm-up': ['now', 'aheadBefore', 'earlyBefore', 'coldBefore', 'ahead', 'early', 'cold'],
  penalty: ['now', 'first', 'count', 'until', 'level', 'last'],
  slots: ['now', 'used', 'id'],
}

/** Checks that a store has answered each op: a missing number would allow every request. */
export function checkTaken(answer: unknown, ops: readonly Take[]): readonly Taken[] {
  if (areTaken(answer, ops)) return answer
  throw new StoreError(
    `The store did not return the result of each op: take resolves with a list of them, in the order of the ops; got ${formatValue(answer)}.`,
  )
}

/** Whether a value has the result of each op. */
export function areTaken(answer: unknown, ops: readonly Take[]): answer is readonly Taken[] {
  if (!Array.isArray(answer)) return false
  for (let i = 0; i < ops.length; i++) if (!isTaken(answer[i], (ops[i] as Take).step)) return false
  return true
}

/** Whether a value is the result of a step. */
export function isTaken(value: unknown, { kernel }: Step): boolean {
  if (typeof value !== 'object' || value === null) return false
  const taken = value as Readonly<Record<string, unknown>>
  // Loops instead of functions: this runs for each call of a remote store.
  for (const name of NUMBERS[kernel]) if (!Number.isFinite(taken[name])) return false
  return typeof taken['allowed'] === 'boolean' && Number.isFinite(((taken['gross'] ?? NOTHING) as Partial<Exact>).tick)
}

/** Checks how many states a store says that it has deleted: without a number, a reset would report that there was none. */
export function checkDeleted(count: unknown): number {
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count
  throw new StoreError(
    `The store did not return how many states it has deleted: delete and deleteAll resolve with a whole number; got ${formatValue(count)}.`,
  )
}

/** Wraps what a store throws in a {@link StoreError}; a {@link QuotaError} is left as it is. */
export function asStoreError(cause: unknown): StoreError | QuotaError {
  if (cause instanceof StoreError || cause instanceof QuotaError) return cause
  return new StoreError(`The store failed: ${formatThrown(cause)}.`, cause)
}
