import { type Duration, micros, QuotaError } from '@spillway/core'
import { formatValue } from '@spillway/core/internal'

/** Converts a duration to milliseconds for timers, which are limited to 2^31 ms. */
export function millis(what: string, duration: Duration): number {
  const ms = Math.ceil(micros(duration, what) / 1000)
  if (ms < 2 ** 31) return ms
  throw new QuotaError('ERR_SPILLWAY_DURATION', `${what} must be shorter than 24 days; got ${formatValue(duration)}.`)
}
