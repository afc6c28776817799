import type { Micros } from '../common/time.ts'
import { exactly } from './fraction.ts'

/**
 * The warm-up kernel: a rate that is slower after idle time, up to three times, and rises while units are consumed
 * (`SmoothWarmingUp` of Guava's `RateLimiter`).
 *
 * The state is the time until the next turn, `ahead`, and how cold the key is, `cold`: 0 to `2 × half` microseconds,
 * where `2 × half` is the warm-up period. Idle time adds to `cold` one to one. A take of `k` microseconds' worth of units
 * lowers `cold` by `k`, and moves the next turn by
 *
 *     k + (a² − b²) / half     a = max(cold before − half, 0), b = max(cold after − half, 0)
 *
 * which is the integral of an interval that is one unit's time up to `half` and rises to three times that at `2 × half`.
 * The second term is rounded up to a whole microsecond. `cold` is whole, and off by less than a microsecond per take.
 *
 * A take is allowed if its turn has come, however many units it takes: the takes after it wait for them. Turns of takes
 * are at least their units' time apart, hence in any span of time `t` at most `t` and the last take have their turn.
 *
 * All moments count from `writtenAt`. So a clock that has stepped back changes nothing: the wait that
 * was left starts now.
 *
 * The kernel is written in TypeScript here, in Lua and in SQL, with the same arithmetic. The conformance suite compares their results.
 */
export interface WarmUpStep {
  readonly kernel: 'warm-up'
  /** Microseconds' worth of units; negative refunds. */
  readonly increment: number
  /** The part of a microsecond by which that is less, in parts of `scale`; negative in a refund. */
  readonly early: number
  /** Parts of a microsecond. */
  readonly scale: number
  /** Microseconds that must pass before the turn, for units beyond the burst. */
  readonly check: number
  /** How long a take may have to wait for its turn. */
  readonly tolerance: number
  /** Half of the warm-up period, in microseconds. */
  readonly half: number
  /** The take that is refunded, by the turn after it; `Number.MAX_SAFE_INTEGER` if that is not known. */
  readonly until: number
  /** How much earlier that turn is, in parts of `scale`. */
  readonly untilEarly: number
  /** How cold the key is after the refund of a known take. */
  readonly cold: number
  readonly peek: boolean
}

/** A key's next turn, and how cold it is. */
export interface WarmUpState {
  /** When the state was written. */
  readonly writtenAt: Micros
  /** Microseconds from `writtenAt` until the next turn, rounded up. */
  readonly ahead: number
  /** How much earlier the turn is, in parts of `scale`. */
  readonly early: number
  readonly cold: number
  readonly scale: number
}

/** The result of a warm-up step in a store: `ahead`, `early` and `cold` after the step, and before it. */
export interface WarmUpTaken {
  readonly allowed: boolean
  readonly now: Micros
  readonly aheadBefore: number
  readonly earlyBefore: number
  readonly coldBefore: number
  readonly ahead: number
  readonly early: number
  readonly cold: number
}

/** The result of `warmUp`: the store writes `taken` if the whole batch is allowed, else `kept`. */
export interface WarmUpOutcome {
  readonly allowed: boolean
  readonly base: WarmUpState
  readonly next: WarmUpState
  readonly taken: WarmUpState | undefined
  readonly kept: WarmUpState | undefined
}

/** The longest warm-up period, 2^33 µs: half of it is at most 2^32 µs, so that no product is beyond 2^53. */
export const LONGEST_WARM_UP: Micros = 8_589_934_592

/** Steps a key that warms up. A key without a state is cold. */
export function warmUp(state: WarmUpState | undefined, now: Micros, step: WarmUpStep): WarmUpOutcome {
  const base = foundIn(state, now, step)
  const next = step.increment < 0 ? refund(base, step) : take(base, step)
  return {
    allowed: base.ahead + step.check <= step.tolerance,
    base,
    next,
    taken: state === undefined && step.increment < 0 ? undefined : next,
    kept: state === undefined || state.writtenAt <= now ? state : base,
  }
}

function foundIn(state: WarmUpState | undefined, now: Micros, { half, scale }: WarmUpStep): WarmUpState {
  if (state === undefined) return { writtenAt: now, ahead: 0, early: 0, cold: 2 * half, scale }
  const left = state.ahead - Math.max(now - state.writtenAt, 0)
  const early = state.scale === scale ? state.early : 0
  if (left > 0) return { writtenAt: now, ahead: left, early, cold: Math.min(state.cold, 2 * half), scale }
  return { writtenAt: now, ahead: 0, early: 0, cold: Math.min(state.cold - left, 2 * half), scale }
}

function take(base: WarmUpState, { increment, early, half, scale }: WarmUpStep): WarmUpState {
  const turn = exactly(base.ahead + increment, base.early + early, scale)
  const cold = Math.max(base.cold - (turn.tick - base.ahead), 0)
  return { ...base, ahead: turn.tick + slowdown(base.cold, cold, half), early: turn.early, cold }
}

/** Restores the state before the last take. An earlier take returns nothing, because later turns rely on it. */
function refund(base: WarmUpState, step: WarmUpStep): WarmUpState {
  const { writtenAt, ahead, early, scale } = base
  const known = step.until !== Number.MAX_SAFE_INTEGER
  const last = writtenAt + ahead === step.until && early === step.untilEarly
  if (ahead === 0 || (known && !last)) return base
  const cold = known ? step.cold : Math.min(base.cold - step.increment, 2 * step.half)
  const slower = known ? 0 : slowdown(cold, base.cold, step.half)
  const turn = exactly(ahead + step.increment - slower, early + step.early, scale)
  if (turn.tick > 0) return { writtenAt, ahead: turn.tick, early: turn.early, cold, scale }
  return { writtenAt, ahead: 0, early: 0, cold: Math.min(cold - turn.tick, 2 * step.half), scale }
}

/** The microseconds that units take longer than when warm, while `cold` falls from `before` to `after`. */
export function slowdown(before: number, after: number, half: number): number {
  const a = Math.max(before - half, 0)
  const b = Math.max(after - half, 0)
  return dividedUp(a - b, a + b, half)
}

// 2^17.
const SPLIT = 131_072

/** `x × y / divisor`, rounded up: `y` is split, because the product may be beyond 2^53. */
function dividedUp(x: number, y: number, divisor: number): number {
  const high = Math.floor(y / SPLIT)
  const low = y - high * SPLIT
  const whole = Math.floor((x * high) / divisor)
  const rest = x * high - whole * divisor
  return whole * SPLIT + Math.ceil((rest * SPLIT + x * low) / divisor)
}

/** The moment from which on a key is as cold as a new one. */
export const coldAt = ({ writtenAt, ahead, cold }: WarmUpState, half: number): Micros =>
  writtenAt + ahead + Math.max(2 * half - cold, 0)
