import { formatThrown, warnOnce } from '@spillway/core/internal'

/**
 * Measures something. A meter or a tracer that throws does not affect what is measured: no limit fails because of its
 * metrics. Returns undefined if it has thrown.
 */
export function quietly<T>(measure: () => T): T | undefined {
  try {
    return measure()
  } catch (error) {
    warnOnce(console, 'WARN_SPILLWAY_LISTENER', 'telemetry threw: ', formatThrown(error))
    return undefined
  }
}
