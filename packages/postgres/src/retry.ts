import { StoreError } from '@spillway/core'
import { formatThrown, markUnsent } from '@spillway/core/internal'
import { retrying as retryingUntil, TimeoutError, timeoutOf, type Until } from '@spillway/stores/internal'
import { hasNotConnected } from './clients.ts'

/**
 * Retryable errors: serialization_failure, deadlock_detected, unique_violation (an insert that lost a race) and, of
 * distributed engines, statement_completion_unknown. A retry after the last may take units twice, which admits too few
 * requests, never too many.
 */
const RETRYABLE_CODES: ReadonlySet<unknown> = new Set(['40001', '40P01', '23505', '40003'])

// YugabyteDB reports some of its conflicts as internal errors.
const CONFLICT = /restart read|try again|conflict|aborted|expired/i

const isRetryable = (error: unknown): boolean => {
  const { code, message = '' } = error as { code?: unknown; message?: string }
  return RETRYABLE_CODES.has(code) || (code === 'XX000' && CONFLICT.test(message))
}

/** How long a migration leaves a lock to others that it did not get in time, in milliseconds: much longer than it waited. */
const LOCKED_PAUSE_MS = 1_000

/** Retries until success, an error that is not retryable, or the deadline; a lock that was not free in time only on request. */
export const retrying = <T>(
  until: Until,
  run: (until: Until) => Promise<T>,
  { ifLocked = false }: { readonly ifLocked?: boolean } = {},
): Promise<T> =>
  retryingUntil(until, run, (error) => {
    if (ifLocked && (error as { code?: unknown }).code === '55P03') return LOCKED_PAUSE_MS
    return isRetryable(error) ? 0 : undefined
  })

const MIGRATE = 'Run migrate(pool), or migrationSql() as the owner.'

const HINTS: Readonly<Record<string, string>> = {
  '25006': 'The server or the session is read-only and counts nothing. Connect to the primary.',
  '42501':
    'As a role that may create it, run migrationSql() with the same table and schema; then give this role what the README lists under "A role that may do no more".',
  '3F000': MIGRATE,
  '42P01': MIGRATE,
  '42703': 'A table of this name has other columns. Set `table` to another name.',
  '42883': MIGRATE,
  '55P03': 'Another transaction holds a lock on the row or the table.',
}

/** Converts an error to a `StoreError` whose message says what to do. */
export function failure(error: unknown, timeoutMs: number): StoreError {
  if (error instanceof StoreError) return error
  if (error instanceof TimeoutError) return timeoutOf('PostgreSQL', error, timeoutMs)
  const { code = '' } = Object(error) as { code?: string }
  const cure = HINTS[code] ?? (isRetryable(error) ? `Other transactions held its locks for ${timeoutMs} ms.` : '')
  const failed = new StoreError(
    `PostgreSQL failed: ${formatThrown(error)}${code && ` (${code})`}. ${cure}`.trimEnd(),
    error,
    {
      healthy: code.startsWith('22') || code === '55P03' || isRetryable(error),
    },
  )
  return hasNotConnected(Object(error)) ? markUnsent(failed) : failed
}
