import type { Micros } from '../time.ts'

/**
 * The sliding-window kernel: two counts, the older one fading out as the newer one's window goes by. A fixed window that
 * starts at a key's first request is the same without the older count: the window ends all at once.
 *
 * A key's first window starts with its first request. What counts is the current window's units, and of the previous
 * window's as large a share as the current window has still to run, in whole units, rounded down. Between two windows
 * that is an estimate: up to twice the limit can pass within one window's length.
 *
 * All of it is whole numbers: shares are compared multiplied out, in ticks coarse enough to stay exact.
 */
export interface SlidingWindowStep {
  readonly kernel: 'sliding-window'
  /** Units the take adds; negative gives back. */
  readonly increment: number
  /** Units that must fit for the take to be allowed. */
  readonly check: number
  readonly limit: number
  /** The length of a window in ticks. */
  readonly ticks: number
  /** The length of a tick. */
  readonly tick: Micros
  /** Counts the current window alone: no state outlives it, and the next request starts a window of its own. */
  readonly fixed: boolean
  /** The most units a window can count, however much is charged. */
  readonly most: number
  /** The start of the window that counts the units refunded; 0 refunds the latest. Once it is gone, nothing is returned. */
  readonly since: Micros
  readonly peek: boolean
}

/** A key's two counts, and when the window of the current one started. */
export interface SlidingWindowState {
  readonly start: Micros
  readonly current: number
  readonly previous: number
}

/** What a store saw when it made a sliding-window step: the state as it is now. */
export interface SlidingWindowTaken extends SlidingWindowState {
  readonly allowed: boolean
  readonly now: Micros
}

/** What `slidingWindow` found out: `taken` is to be stored if its batch goes through, `kept` if not. */
export interface SlidingWindowOutcome {
  readonly allowed: boolean
  /** The state as found, turned to the window that now is in. */
  readonly base: SlidingWindowState
  readonly next: SlidingWindowState
  readonly taken: SlidingWindowState | undefined
  readonly kept: SlidingWindowState | undefined
}

/**
 * Steps a sliding window.
 *
 * A window that starts after now was started before the clock stepped back: it is made to start now, at its fullest.
 */
export function slidingWindow(
  state: SlidingWindowState | undefined,
  now: Micros,
  step: SlidingWindowStep,
): SlidingWindowOutcome {
  const window = step.ticks * step.tick
  const over = step.fixed && state !== undefined && now - state.start >= window
  const base = turned(over ? undefined : state, now, window)
  const rest = step.ticks - Math.floor((now - base.start) / step.tick)
  const allowed = base.previous * rest < (step.limit - base.current - step.check + 1) * step.ticks
  const next =
    step.increment < 0 ? less(base, step) : { ...base, current: Math.min(base.current + step.increment, step.most) }
  return {
    allowed,
    base,
    next,
    taken: state === undefined && step.increment < 0 ? undefined : next,
    kept: state === undefined || state.start <= now ? state : base,
  }
}

function turned(state: SlidingWindowState | undefined, now: Micros, window: Micros): SlidingWindowState {
  if (state === undefined || now - state.start >= 2 * window) return { start: now, current: 0, previous: 0 }
  if (now < state.start) return { ...state, start: now }
  if (now - state.start < window) return state
  return { start: state.start + window, current: 0, previous: state.current }
}

/** Gives units back to the window they were taken in; where that is not known, to the current one first. */
function less({ start, current, previous }: SlidingWindowState, step: SlidingWindowStep): SlidingWindowState {
  const give = -step.increment
  const unknown = step.since === 0
  const fromCurrent = unknown || step.since === start ? Math.min(give, current) : 0
  const inPrevious = step.since === start - step.ticks * step.tick
  const fromPrevious = unknown || inPrevious ? Math.min(give - fromCurrent, previous) : 0
  return { start, current: current - fromCurrent, previous: previous - fromPrevious }
}
