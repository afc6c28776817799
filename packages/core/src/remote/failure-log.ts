import { formatValue, type StoreError, withoutLink } from '../common/errors.ts'
import { type Logger, warn } from '../common/warn.ts'
import type { Store, StoreScope } from '../stores/store.ts'
import { scopeOf } from '../stores/store-kinds.ts'
import { silenceRemedyOf } from './connection-error.ts'

/** A logger of limiters whose option for failures of the store has another name. */
export interface StoreLogger extends Logger {
  /** @default `'onStoreError'` */
  readonly storeErrorOption?: string
}

/** The shortest time between two reports of a failing store. */
const REPORT_INTERVAL_MS = 60_000
/** After how many failed probes a connection that reports no error is likely to be silent. */
const SILENT_PROBES = 3

/** The counts since the last report. */
interface Counts {
  /** Calls that the store failed, or did not answer in time. */
  failed: number
  /** Calls that were not made, because the circuit was open. */
  skipped: number
  /** Refunds that could neither be sent nor kept. */
  dropped: number
}

/**
 * Logs the failures of a store: the first one at once, then counts at most once a minute. Besides, the first one that has a
 * cause, if those before had none, as a client may learn only later why it is not answered; and a connection that is silent.
 */
export interface FailureLog {
  /** `policy` is one that the call was for, and `failedProbes` counts those since the circuit opened. */
  failed(error: StoreError, policy: string, logger: StoreLogger, failedProbes?: number): void
  skipped(): void
  dropped(): void
  /** The circuit has closed again. */
  recovered(): void
}

export function failureLog(store: Store, now: () => number): FailureLog {
  let reportedMs = -Infinity
  let lacksCause = false
  let lacksRemedy = true
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
    failed(error, policy, logger, failedProbes = 0) {
      counts.failed++
      const sinceMs = now() - reportedMs
      const hasCause = error.cause !== undefined || error.reason !== 'timeout'
      const remedy = hasCause || failedProbes < SILENT_PROBES ? '' : silenceRemedyOf(store)
      const isNews = hasCause ? lacksCause : lacksRemedy && remedy !== ''
      if (sinceMs < REPORT_INTERVAL_MS && !isNews) return
      lacksCause = !hasCause
      lacksRemedy &&= remedy === ''
      const isFirst = sinceMs === Infinity || counts.failed === 1
      const past = numbers()
      const about = [
        kindOf(store),
        `limiter ${formatValue(policy)}`,
        !isFirst && `${past} in ${Math.round(sinceMs / 1000)} s`,
      ]
      const silence =
        remedy &&
        ` It has not answered ${failedProbes} probes, and its connection reports no error: it may be silent. ${remedy}`
      warn(
        logger,
        'WARN_SPILLWAY_STORE',
        `the store failed (${about.filter(Boolean).join(', ')}): ${sentence(withoutLink(error.message))}${silence} ${logger.storeErrorOption ?? 'onStoreError'} decides about these requests; further failures are logged once a minute.`,
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
      if (reporter) {
        const kind = kindOf(store)
        const message = `the store answers again${kind && ` (${kind})`}; since the last report: ${numbers()}.`
        warn(reporter, 'WARN_SPILLWAY_STORE', message)
      }
      reporter = undefined
      lacksRemedy = true
    },
  }
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** What a store is, such as `Redis spillway`; empty if it does not say so. */
function kindOf(store: Store): string {
  const { kind = '', name }: StoreScope & { readonly kind?: string } = scopeOf(store)
  return `${kind} ${kind && name}`.trim()
}
