import { count } from './members.ts'

const SECOND = 1_000

/** A number of seconds in milliseconds. */
export const inMillis = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.round(seconds * SECOND)

/** Below it, a number is seconds from now, at most three years; from it on, a moment in seconds since 1970. */
const LEAST_EPOCH = 1e8
/** From it on, a moment in milliseconds since 1970. */
const LEAST_EPOCH_MS = 1e11

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND,
  m: 60 * SECOND,
  h: 3_600 * SECOND,
  d: 86_400 * SECOND,
}

/**
 * The milliseconds until a reset, by one of the forms that are in use: seconds, a moment in seconds or milliseconds since 1970, a
 * duration such as `6m0s`, or a date (RFC 3339 or HTTP). A moment that is over is 0. `nowMs` is the sender's time.
 */
export function resetMs(text: string, nowMs: number): number | undefined {
  const number = count(text)
  if (number === undefined) return durationMs(text) ?? untilDate(text, nowMs)
  if (number < LEAST_EPOCH) return inMillis(number)
  return Math.max((number < LEAST_EPOCH_MS ? number * SECOND : number) - nowMs, 0)
}

/** `1h2m3.5s`, as Go prints durations. */
function durationMs(text: string): number | undefined {
  const parts = [...text.slice(0, 40).matchAll(/(\d{1,9}(?:\.\d{1,9})?)(ms|[smhd])/g)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) return undefined
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * (UNIT_MS[unit as string] as number), 0)
}

/** The milliseconds until a date, 0 if it is over; undefined if the text is none. */
export function untilDate(text: string, nowMs: number): number | undefined {
  const date = dateMs(text)
  return date === undefined ? undefined : Math.max(date - nowMs, 0)
}

/** The three forms of RFC 9110, and RFC 3339. `Date.parse` takes much else for a date, such as `-5`. */
const DATE =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? [\w :-]{15,25}|\d{4}-\d\d-\d\dT[\d:.]{5,20}(?:Z|[+-]\d\d:\d\d))$/

/** A date in milliseconds since 1970; undefined if the text is none. */
export function dateMs(text: string): number | undefined {
  if (!DATE.test(text)) return undefined
  // The form of `asctime` names no zone: it is UTC.
  const date = Date.parse(/^\D{3} /.test(text) ? `${text} GMT` : text)
  return Number.isNaN(date) ? undefined : date
}

/**
 * What `Retry-After` asks for, in milliseconds: seconds, which some send with a fraction, or a date. Of several values that were
 * joined, the longest.
 */
export function retryAfterMs(text: string, nowMs: number): number | undefined {
  const date = untilDate(text, nowMs)
  if (date !== undefined) return date
  const waits = text
    .slice(0, 100)
    .split(',')
    .map((each) => count(each.trim()))
  return waits.reduce(
    (longest, each) => (each === undefined ? longest : Math.max(longest ?? 0, each * SECOND)),
    undefined as number | undefined,
  )
}
