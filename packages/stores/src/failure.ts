import { StoreError } from '@spillway/core'
import { formatThrown } from '@spillway/core/internal'
import type { Driver } from './drivers.ts'
import { TimeoutError } from './until.ts'

/** The error of a call that was not answered in time. */
export function timeoutOf(kind: string, error: TimeoutError, timeoutMs: number): StoreError {
  const { late, message, reason } = error
  const what = late === undefined ? `nothing was sent, as ${message}` : 'the units may have been taken'
  return new StoreError(`${kind} did not answer in ${timeoutMs} ms; ${what}.`, error, {
    reason,
    ...(late && { late }),
  })
}

/** Returns what makes a `StoreError` of an error, whose message says what to do. */
export const failing =
  ({ kind, hintOf, isRetryable }: Driver) =>
  (error: unknown, timeoutMs: number): StoreError => {
    if (error instanceof StoreError) return error
    if (error instanceof TimeoutError) return timeoutOf(kind, error, timeoutMs)
    // Others hold what the call needs: the database works.
    const healthy = isRetryable?.(error) === true
    const hint = hintOf?.(error) ?? (healthy ? `Other transactions held its locks for ${timeoutMs} ms.` : '')
    return new StoreError(`${kind} failed: ${formatThrown(error)}. ${hint}`.trimEnd(), error, { healthy })
  }
