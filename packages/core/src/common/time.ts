import { invalid, invalidOption } from './errors.ts'

/**
 * A moment or a span in whole microseconds. A moment counts from 1970 by the store's clock: about 1.8e15 today, exact in a
 * JavaScript number, a Lua number and a PostgreSQL `bigint`.
 */
export type Micros = number

/** A span of time: milliseconds, or a number with its unit, such as `'10s'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

/** The longest span the arithmetic handles, some 95 years: two of them after today stay below 2^53. */
export const LONGEST: Micros = 3e15

/** The default deadline of a remote store's answer. */
export const DEADLINE: Micros = 50_000

// Every runtime has it, though no ECMAScript library declares it.
declare const performance: { now(): number }

/** The monotonic clock in milliseconds, for spans of time in this process. */
export const monotonicMs = (): number => performance.now()

const MICROS_PER: Record<string, Micros> = { ms: 1e3, s: 1e6, m: 60e6, h: 3_600e6, d: 86_400e6 }

/**
 * Returns a duration in whole microseconds, from 1 to {@link LONGEST}. Throws a `QuotaError` for other values; `what` names the
 * option in the error.
 */
export function micros(duration: Duration, what: string): Micros {
  const micros = Math.round(inMicros(duration))
  if (micros >= 1 && micros <= LONGEST) return micros
  throw invalid(
    'ERR_SPILLWAY_DURATION',
    `${what} must be a positive duration, at most 95 years: milliseconds, or a number with ms, s, m, h or d such as '10s'`,
    duration,
  )
}

/** Returns a duration that may be 0, as {@link micros}. */
export const microsOrZero = (duration: Duration, what: string): Micros => (duration === 0 ? 0 : micros(duration, what))

function inMicros(duration: unknown): number {
  if (typeof duration === 'number') return duration * 1e3
  const parts = typeof duration === 'string' ? /^(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d)$/.exec(duration) : null
  return parts ? Number(parts[1]) * (MICROS_PER[parts[2] as string] as Micros) : Number.NaN
}

/** Checks the time that a clock has returned: kernels would count by another value without an error. */
export function checkTime(clock: string, now: unknown): Micros {
  if (typeof now === 'number' && Number.isSafeInteger(now) && now >= 0) return now
  throw invalidOption(`${clock} must return whole microseconds since 1970, such as Date.now() * 1000`, now)
}
