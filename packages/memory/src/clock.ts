import { type Micros, QuotaError } from '@spillway/core'
import { checkFunctions, checkOptions, checkTime, formatValue } from '@spillway/core/internal'

/** A wall clock and a stopwatch, both in milliseconds. The stopwatch never steps, but does not know the date. */
export interface ClockSources {
  readonly wall: () => number
  readonly stopwatch: () => number
}

// Every runtime has it, but no ECMAScript library declares it.
declare const performance: { now(): number }

/** The latest reading of a wall clock, in the year 2255: later ones are not counted exactly. */
const LATEST_MS = 9e12

/** The interval between comparisons of the wall clock with the stopwatch, and the difference that is ignored. */
const SLACK_MS = 1000

/**
 * Returns a monotonic wall clock, in microseconds since 1970. It follows the date. When the clock steps back, it
 * continues from its last value, and subtracts the difference when the clock steps forward again. The time that a
 * machine sleeps counts as passed. A call reads the wall clock once, and the stopwatch once a second or after a step. Throws
 * a `QuotaError` if a clock is not a function, or the wall clock has no time at first.
 */
export function steadyClock(sources?: ClockSources): () => Micros {
  if (sources === undefined) return machineClock()
  checkOptions('steadyClock', sources, ['wall', 'stopwatch'])
  checkFunctions(sources, ['wall', 'stopwatch'], true)
  const { wall, stopwatch } = sources
  const now = wall()
  if (now >= 0 && now <= LATEST_MS) return clockFrom(now, wall, stopwatch)
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `wall must return milliseconds since 1970, as Date.now() does; got ${formatValue(now)}.`,
  )
}

/** The clock of this machine. */
export const machineClock = (): (() => Micros) =>
  clockFrom(
    Date.now(),
    () => Date.now(),
    () => performance.now(),
  )

function clockFrom(first: number, wall: () => number, stopwatch: () => number): () => Micros {
  let lead = 0
  let latest = first
  let anchor = { at: latest, elapsed: stopwatch() }
  // The last reading of the wall clock, and the value returned for it. A typed array stores numbers unboxed; a variable
  // that a closure changes would allocate each on the heap.
  const last = new Float64Array([latest, Math.round(latest * 1000)])
  const move = (now: number): void => {
    // Time stands still while the wall clock has no time. Windows never denied at NaN, which would last.
    if (!(now >= 0 && now <= LATEST_MS)) return
    const run = now + lead - anchor.at
    const back = now < (last[0] as number)
    if (back || run >= SLACK_MS) {
      const elapsed = stopwatch()
      const stepped = run - (elapsed - anchor.elapsed)
      // A difference below the slack is rounding or a slewed clock, and the wall clock is followed. While this clock is
      // ahead of the wall clock, it follows the stopwatch instead: small steps back and forward would add up.
      if (back || lead > 0 || stepped < -SLACK_MS) lead = Math.max(lead - stepped, 0)
      anchor = { at: now + lead, elapsed }
    }
    latest = Math.max(latest, now + lead)
    last[0] = now
    last[1] = Math.round(latest * 1000)
  }
  return reader(wall, last, move)
}

/**
 * Most calls are in the same millisecond as the previous one. The result is always read from the typed array: engines know
 * then that it is a number, and do not box it.
 */
const reader =
  (wall: () => number, last: Float64Array, move: (now: number) => void): (() => Micros) =>
  () => {
    const now = wall()
    if (now !== last[0]) move(now)
    return last[1] as Micros
  }

/** A clock of the caller's. Throws a QuotaError if it returns no time. */
export const checkedClock =
  (clock: () => Micros): (() => Micros) =>
  () =>
    checkTime('clock', clock())
