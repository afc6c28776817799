import type { Micros } from '../common/time.ts'

/**
 * The sliding-window kernel: the counts of the current and the previous window. A fixed window that starts at a key's
 * first request, or with a window of the clock, has no previous count: all its units refill at its end. Nor has a window of
 * a calendar, which starts with a period of the calendar: `kernels/calendar.ts`.
 *
 * The first window of a key starts with its first request, unless the clock starts it. The units used are those of the current window, plus a share of the
 * previous window's: the share of the current window that is still to come, rounded down to whole units. This is an
 * estimate: over-admission is up to twice the limit within one window's length.
 *
 * Arithmetic is on whole numbers: shares are compared by cross-multiplication, in ticks coarse enough to be exact.
 */
export interface SlidingWindowStep {
  readonly kernel: 'sliding-window'
  /** Units the take adds; negative refunds. */
  readonly increment: number
  /** Units that must fit for the take to be allowed. */
  readonly check: number
  readonly limit: number
  /** The length of a window in ticks. */
  readonly ticks: number
  /** The length of a tick. */
  readonly tick: Micros
  /** Whether only the current window counts: the first request after its end starts the next window. */
  readonly fixed: boolean
  /** The periods that windows are; `null` if all windows have one length. */
  readonly calendar: Calendar | null
  /** Added to the clock, at whose multiples of a window's length windows then start; `null` starts them at a key's request. */
  readonly offset: Micros | null
  /** The most units a window counts: larger charges are cut. */
  readonly most: number
  /**
   * The start of the window that counts the units refunded; 0 refunds the latest. A window that has expired refunds
   * nothing.
   */
  readonly since: Micros
  readonly peek: boolean
}

/** The starts of a calendar's periods: of the one before, of the one at a time, and of the two after it. */
export type Starts = readonly Micros[]

/** The periods of a calendar, such as the months in a time zone. */
export interface Calendar {
  /** Returns the starts of the periods around a time. */
  startsAround(now: Micros): Starts
  /** Returns the window of the period at `now`, for a key with this state. */
  windowAt(state: SlidingWindowState | undefined, now: Micros): SlidingWindowState
  /** Returns the end of the period of a window that starts at `start`, or of the period at `now` if that is later. */
  endOf(start: Micros, now?: Micros): Micros
}

/** A key's two counts, and when the window of the current one started. */
export interface SlidingWindowState {
  readonly start: Micros
  readonly current: number
  readonly previous: number
}

/** The result of a sliding-window step in a store: the state after it. */
export interface SlidingWindowTaken extends SlidingWindowState {
  readonly allowed: boolean
  readonly now: Micros
}

/** The result of `slidingWindow`: the store writes `taken` if the whole batch is allowed, else `kept`. */
export interface SlidingWindowOutcome {
  readonly allowed: boolean
  /** The state as found, moved on to the current window. */
  readonly base: SlidingWindowState
  readonly next: SlidingWindowState
  readonly taken: SlidingWindowState | undefined
  readonly kept: SlidingWindowState | undefined
}

/**
 * Steps a sliding window.
 *
 * A window that starts after now was started before the clock stepped back: it is made to start now, or to be the clock's
 * window at now, with all its units used.
 */
export function slidingWindow(
  state: SlidingWindowState | undefined,
  now: Micros,
  step: SlidingWindowStep,
): SlidingWindowOutcome {
  const window = step.ticks * step.tick
  const over = step.fixed && state !== undefined && now - state.start >= window
  const base =
    step.calendar === null
      ? turned(over ? undefined : state, now, window, startAt(now, step))
      : step.calendar.windowAt(state, now)
  const rest = step.ticks - Math.floor((now - base.start) / step.tick)
  const allowed = base.previous * rest < (step.limit - base.current - step.check + 1) * step.ticks
  const next =
    step.increment < 0 ? refund(base, step) : { ...base, current: Math.min(base.current + step.increment, step.most) }
  return {
    allowed,
    base,
    next,
    taken: state === undefined && step.increment < 0 ? undefined : next,
    kept: state === undefined || state.start <= now ? state : base,
  }
}

/** The start of a window that begins at a time, or is the clock's at that time. */
export const startAt = (now: Micros, { offset, ticks, tick }: SlidingWindowStep): Micros =>
  offset === null ? now : now - ((now + offset) % (ticks * tick))

function turned(state: SlidingWindowState | undefined, now: Micros, window: Micros, start: Micros): SlidingWindowState {
  if (state === undefined || now - state.start >= 2 * window) return { start, current: 0, previous: 0 }
  if (now < state.start) return { ...state, start }
  if (now - state.start < window) return state
  return { start: state.start + window, current: 0, previous: state.current }
}

/** Refunds units to the window of their take; if that is not known, to the current one first. */
function refund({ start, current, previous }: SlidingWindowState, step: SlidingWindowStep): SlidingWindowState {
  const give = -step.increment
  const unknown = step.since === 0
  const fromCurrent = unknown || step.since === start ? Math.min(give, current) : 0
  const inPrevious = step.since === start - step.ticks * step.tick
  const fromPrevious = unknown || inPrevious ? Math.min(give - fromCurrent, previous) : 0
  return { start, current: current - fromCurrent, previous: previous - fromPrevious }
}

/** The moment from which on no unit of a window counts. */
export const windowsOver = (
  { start }: SlidingWindowState,
  { fixed, ticks, tick, calendar }: SlidingWindowStep,
): Micros => (calendar === null ? start + (fixed ? 1 : 2) * ticks * tick : calendar.endOf(start))
