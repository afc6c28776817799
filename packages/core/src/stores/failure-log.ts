import { type StoreError, withoutLink } from '../common/errors.ts'
import { type Logger, warn } from '../common/warn.ts'

/** The shortest time between two reports of a failing store. */
const REPORT_INTERVAL_MS = 60_000

/** The counts since the last report. */
interface Counts {
  /** Calls that the store failed, or did not answer in time. */
  failed: number
  /** Calls that were not made, because the circuit was open. */
  skipped: number
  /** Refunds that could neither be sent nor kept. */
  dropped: number
}

/** Logs the failures of a store: the first one at once, then counts at most once a minute. */
export interface FailureLog {
  failed(error: StoreError, logger: Logger): void
  skipped(): void
  dropped(): void
  /** The circuit has closed again. */
  recovered(): void
}

export function failureLog(now: () => number): FailureLog {
  let reportedMs = -Infinity
  let reporter: Logger | undefined
  let counts: Counts = { failed: 0, skipped: 0, dropped: 0 }
  const numbers = (): string => {
    const { failed, skipped, dropped } = counts
    const parts = [
      `${failed} failed`,
      skipped > 0 && `${skipped} not sent`,
      dropped > 0 && `${dropped} refunds dropped`,
    ]
    counts = { failed: 0, skipped: 0, dropped: 0 }
    return parts.filter(Boolean).join(', ')
  }
  return {
    failed(error, logger) {
      counts.failed++
      const sinceMs = now() - reportedMs
      if (sinceMs < REPORT_INTERVAL_MS) return
      const past =
        sinceMs === Infinity || counts.failed === 1 ? '' : ` (${numbers()} in ${Math.round(sinceMs / 1000)} s)`
      if (past === '') numbers()
      warn(
        logger,
        'WARN_SPILLWAY_STORE',
        `the store failed${past}: ${sentence(withoutLink(error.message))} onStoreError decides about these requests; further failures are logged once a minute.`,
      )
      reportedMs = now()
      reporter = logger
    },
    skipped() {
      counts.skipped++
    },
    dropped() {
      counts.dropped++
    },
    recovered() {
      if (reporter)
        warn(reporter, 'WARN_SPILLWAY_STORE', `the store answers again; since the last report: ${numbers()}.`)
      reporter = undefined
    },
  }
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)
