import type { Micros } from '../common/time.ts'

/**
 * The sliding-log kernel: every take of the last window, with its moment. It is exact: no span of a window's length
 * exceeds the limit. A log has one entry for each moment with a take, at most `limit` entries.
 */
export interface SlidingLogStep {
  readonly kernel: 'sliding-log'
  /** Units the take adds; negative refunds. */
  readonly increment: number
  /** Units that must fit for the take to be allowed. */
  readonly check: number
  readonly limit: number
  readonly window: Micros
  /** When the refunded units were taken; 0 refunds the latest. */
  readonly since: Micros
  readonly peek: boolean
}

/** A key's log, oldest first: moment, units, moment, units, … */
export type SlidingLogState = readonly number[]

/** The result of a sliding-log step in a store. */
export interface SlidingLogTaken {
  readonly allowed: boolean
  readonly now: Micros
  /** Units in the window after the step. */
  readonly used: number
  /** When `check` units fit the log as it was before the step; now if they already do. */
  readonly fitsAt: Micros
  /** When more units fit than now; now if the log is empty. */
  readonly freesAt: Micros
  /** When the newest units leave the window; now if there are none. */
  readonly emptyAt: Micros
}

/** The result of `slidingLog`: the store writes `taken` if the whole batch is allowed, else `kept`. */
export interface SlidingLogOutcome {
  readonly allowed: boolean
  readonly base: SlidingLogState
  readonly next: SlidingLogState
  readonly taken: SlidingLogState | undefined
  readonly kept: SlidingLogState | undefined
}

/** Steps a sliding log. Entries dated after now were written before the clock stepped back: they are dated now. */
export function slidingLog(state: SlidingLogState | undefined, now: Micros, step: SlidingLogStep): SlidingLogOutcome {
  const base = live(state ?? [], now, step.window)
  const allowed = unitsOf(base) + step.check <= step.limit
  const next = step.increment < 0 ? refund(base, step) : take(base, now, step)
  const ahead = state !== undefined && state.length > 0 && (state[state.length - 2] as number) > now
  return {
    allowed,
    base,
    next,
    taken: state === undefined && step.increment < 0 ? undefined : next,
    kept: ahead ? base : state,
  }
}

/** Reads the log after the step, except `fitsAt`, which is about the log before it. */
export function readLog(
  outcome: SlidingLogOutcome,
  now: Micros,
  step: SlidingLogStep,
  takes: boolean,
): SlidingLogTaken {
  const log = takes ? outcome.next : outcome.base
  const used = unitsOf(log)
  return {
    allowed: outcome.allowed,
    now,
    used,
    fitsAt: fitsAt(outcome.base, now, step, step.check),
    freesAt: fitsAt(log, now, step, Math.max(step.limit - used, 0) + 1),
    emptyAt: log.length === 0 ? now : (log[log.length - 2] as number) + step.window,
  }
}

function live(log: SlidingLogState, now: Micros, window: Micros): SlidingLogState {
  let first = 0
  while (first < log.length && (log[first] as number) + window <= now) first += 2
  const rest = first === 0 ? log : log.slice(first)
  const newest = rest.length === 0 ? now : (rest[rest.length - 2] as number)
  return newest <= now ? rest : dated(rest, now)
}

/** The log with all entries after now merged into one at now. */
function dated(log: SlidingLogState, now: Micros): SlidingLogState {
  const past = log.findIndex((value, i) => i % 2 === 0 && value >= now)
  return [...log.slice(0, past), now, unitsOf(log.slice(past))]
}

function unitsOf(log: SlidingLogState): number {
  let units = 0
  for (let i = 1; i < log.length; i += 2) units += log[i] as number
  return units
}

/** Beyond the limit, which only a charge exceeds, the debt is one entry, so that the log is bounded. */
function take(log: SlidingLogState, now: Micros, { increment, limit }: SlidingLogStep): SlidingLogState {
  const newest = log.length === 0 ? Number.NaN : (log[log.length - 2] as number)
  const owed = log.length > 0 && unitsOf(log) >= limit
  if (newest !== now && !owed) return [...log, now, increment]
  return [...log.slice(0, -2), now, (log[log.length - 1] as number) + increment]
}

/** Refunds units to the entry of their take; if that is not known, to the latest. */
function refund(log: SlidingLogState, { increment, since }: SlidingLogStep): SlidingLogState {
  const left = [...log]
  let give = -increment
  for (let i = left.length - 2; i >= 0 && give > 0; i -= 2) {
    if (since !== 0 && left[i] !== since) continue
    const units = Math.min(left[i + 1] as number, give)
    left[i + 1] = (left[i + 1] as number) - units
    give -= units
  }
  return left.filter((_, i) => left[i | 1] !== 0)
}

/** When `units` fit into the log; now if they do, or never will. */
function fitsAt(log: SlidingLogState, now: Micros, { limit, window }: SlidingLogStep, units: number): Micros {
  let over = unitsOf(log) + units - limit
  for (let i = 0; i < log.length && over > 0; i += 2) {
    over -= log[i + 1] as number
    if (over <= 0) return (log[i] as number) + window
  }
  return now
}
