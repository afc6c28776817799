import type { RateLimitReport, ReportedLimit } from './headers/read.ts'

/** A rate: units in a window. */
export interface Rate {
  readonly limit: number
  readonly windowMs: number
  /** Whether the length of the window is not known, and may be longer. */
  readonly isGuess?: boolean
}

/** What an answer says about the calls after it. */
export interface Lesson {
  /** Whether the call was denied, as there were too many. */
  readonly isDenied: boolean
  /** How long no call should be sent; 0 if the next may be. Undefined after a denial that does not say it. */
  readonly pauseMs: number | undefined
  /** The lowest rate of those that the answer reports; null if it reports limits without one, undefined if it reports none. */
  readonly rate: Rate | null | undefined
}

/** Longer windows, such as days, are for use in bursts: they pause calls when they are used up, and do not pace them. */
const LONGEST_PACED_MS = 60_000

/** Reads an answer to a call that is paced at `paced`. */
export function lessonOf(status: number, { retryAfterMs, limits }: RateLimitReport, paced: Rate): Lesson {
  const counted = limits.filter(({ unit }) => unit !== 'concurrent-requests')
  const waits = counted.filter(({ remaining }) => remaining === 0).map(({ resetAfterMs = 0 }) => resetAfterMs)
  const resetMs = Math.max(0, ...waits)
  const isDenied =
    status === 429 ||
    ((status === 403 || status === 503) && (retryAfterMs !== undefined || (status === 403 && resetMs > 0)))
  return {
    isDenied,
    pauseMs: isDenied ? retryAfterMs || waitOf(resetMs, counted) : pauseAfter(resetMs, paced),
    rate: counted.length === 0 ? undefined : lowestRate(counted, paced),
  }
}

/** A denial without `Retry-After` waits for the limit that is used up, or for any. */
const waitOf = (resetMs: number, limits: readonly ReportedLimit[]): number | undefined =>
  resetMs || Math.max(0, ...limits.map(({ resetAfterMs = 0 }) => resetAfterMs)) || undefined

/** If the last unit is used, but the next comes within the pace, the pace is the pause: whole seconds would be too long. */
const pauseAfter = (resetMs: number, { limit, windowMs }: Rate): number =>
  resetMs > Math.ceil(windowMs / limit / 1_000) * 1_000 ? resetMs : 0

function lowestRate(limits: readonly ReportedLimit[], paced: Rate): Rate | null {
  const longestMs = Math.max(paced.windowMs, LONGEST_PACED_MS)
  let lowest: Rate | null = null
  for (const { unit, limit, windowMs, resetAfterMs = 0 } of limits) {
    const rate = {
      limit: limit ?? 0,
      windowMs: windowMs ?? Math.max(paced.windowMs, resetAfterMs),
      isGuess: windowMs === undefined,
    }
    const isRate = unit === 'requests' && rate.limit >= 1 && rate.windowMs > 0 && rate.windowMs <= longestMs
    if (isRate && (lowest === null || speedOf(rate) < speedOf(lowest))) lowest = rate
  }
  return lowest
}

/** Units in a millisecond. */
export const speedOf = ({ limit, windowMs }: Rate): number => limit / windowMs
