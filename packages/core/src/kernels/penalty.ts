import type { Micros } from '../common/time.ts'

/**
 * The penalty kernel: counts the units of a window that starts with the first of them, and blocks the key when they reach
 * the limit. Blocks in a row grow.
 *
 * `until` is the end of the block that the current window has started, and 0 if it has started none. A refund that takes
 * the units below the limit again lifts that block, as if it had never started. When the block ends, it counts: `level` is
 * the number of blocks in a row, and `last` is the end of the last of them. Both are 0 again when `forgive` has passed.
 *
 * A block set by hand is a charge of `MOST_UNITS` with a length of its own. So no refund of a request's units lifts it.
 * A step of 0 units writes what a denial does.
 *
 * All moments count from `writtenAt`, when the state was written. If the clock has stepped back since, they are moved
 * back with it: a window, a block and what is left of `forgive` last as long as before.
 *
 * The kernel is written in TypeScript here, in Lua and in SQL, with the same arithmetic. The conformance suite compares their results.
 */
export interface PenaltyStep {
  readonly kernel: 'penalty'
  /** Units the take adds; negative refunds, and 0 only looks. */
  readonly increment: number
  /** Units that must fit for the take to be allowed. */
  readonly check: number
  /** The units that start a block. */
  readonly limit: number
  /** How long units count, from the first of them. */
  readonly window: Micros
  /** The length of a block that is the first in a row. */
  readonly block: Micros
  /** How many times as long as the block before it the next block in a row is. */
  readonly grow: number
  /** The longest block. */
  readonly max: Micros
  /** How long after the end of a block the next one is the first in a row again. */
  readonly forgive: Micros
  /** The `first` of the window that counts the units refunded; 0 refunds the latest. A window that is over refunds nothing. */
  readonly since: Micros
  /** Whether a denial during a block starts the block again. */
  readonly extend: boolean
  readonly peek: boolean
}

/** The units and the block of a key's window, and the blocks before it. */
export interface PenaltyState {
  /** When the state was written. */
  readonly writtenAt: Micros
  /** When the window started. */
  readonly first: Micros
  /** Units in the window. */
  readonly count: number
  /** The end of the window's block; 0 without one. */
  readonly until: Micros
  /** Blocks in a row before the window. */
  readonly level: number
  /** The end of the last of them; 0 without one. */
  readonly last: Micros
}

/** The result of a penalty step in a store: the state after it. */
export interface PenaltyTaken extends Omit<PenaltyState, 'writtenAt'> {
  readonly allowed: boolean
  readonly now: Micros
}

/** The result of `penalty`: the store writes `taken` if the whole batch is allowed, else `kept`. */
export interface PenaltyOutcome {
  readonly allowed: boolean
  /** The state as found, moved on to now. */
  readonly base: PenaltyState
  readonly next: PenaltyState
  readonly taken: PenaltyState | undefined
  readonly kept: PenaltyState | undefined
}

/** The most units that a window counts; a block set by hand has as many. */
export const MOST_UNITS: number = 2 ** 50

/** Steps a key that may be blocked. */
export function penalty(state: PenaltyState | undefined, now: Micros, step: PenaltyStep): PenaltyOutcome {
  const base = extended(found(state, now, step), step)
  const used = base.until > 0 ? Math.max(base.count, step.limit) : base.count
  const next = step.increment < 0 ? refund(base, step) : take(base, step)
  const isMoved = state !== undefined && (state.writtenAt > now || (step.extend && base.until > 0))
  const kept = isMoved ? base : state
  const isKept = step.increment === 0 || (state === undefined && step.increment < 0)
  return { allowed: used + step.check <= step.limit, base, next, taken: isKept ? kept : next, kept }
}

function found(state: PenaltyState | undefined, now: Micros, { window, forgive }: PenaltyStep): PenaltyState {
  if (state === undefined) return { writtenAt: now, first: now, count: 0, until: 0, level: 0, last: 0 }
  const back = Math.max(state.writtenAt - now, 0)
  const first = state.first - back
  const until = state.until > 0 ? state.until - back : 0
  if (until > now)
    return { writtenAt: now, first, count: state.count, until, level: state.level, last: moved(state, back) }
  const level = until > 0 ? state.level + 1 : state.level
  const last = until > 0 ? until : moved(state, back)
  const isOver = until > 0 || state.count === 0 || now - first >= window
  const isForgiven = level === 0 || now - last >= forgive
  return {
    writtenAt: now,
    first: isOver ? now : first,
    count: isOver ? 0 : state.count,
    until: 0,
    level: isForgiven ? 0 : level,
    last: isForgiven ? 0 : last,
  }
}

const moved = ({ level, last }: PenaltyState, back: Micros): Micros => (level > 0 ? last - back : 0)

function extended(base: PenaltyState, step: PenaltyStep): PenaltyState {
  if (!step.extend || base.until === 0) return base
  return { ...base, until: Math.max(base.until, base.writtenAt + lengthOf(step, base.level)) }
}

/** The length of a block after `level` blocks in a row. */
function lengthOf({ block, grow, max }: PenaltyStep, level: number): Micros {
  let length = block
  for (let i = 0; i < level && length < max; i++) length = Math.min(length * grow, max)
  return length
}

function take(base: PenaltyState, step: PenaltyStep): PenaltyState {
  const count = Math.min(base.count + step.increment, MOST_UNITS)
  if (count < step.limit) return { ...base, count }
  return { ...base, count, until: Math.max(base.until, base.writtenAt + lengthOf(step, base.level)) }
}

function refund(base: PenaltyState, { increment, limit, since }: PenaltyStep): PenaltyState {
  const give = since === 0 || since === base.first ? Math.min(-increment, base.count) : 0
  const count = base.count - give
  return { ...base, count, until: give > 0 && count < limit ? 0 : base.until }
}

/** The moment from which on a key is as a new one. */
export function forgivenAt({ first, until, level, last }: PenaltyState, { window, forgive }: PenaltyStep): Micros {
  if (until > 0) return until + forgive
  return level > 0 ? Math.max(last + forgive, first + window) : first + window
}
