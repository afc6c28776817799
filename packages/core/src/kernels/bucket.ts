import type { Micros } from '../time.ts'
import { type Start, startedState } from './start.ts'

/**
 * The bucket kernel: one step of every quota that fills up and drains at a steady rate.
 *
 * The state of a key is one integer, `tat`: the moment the bucket is full again (the "theoretical arrival time" of GCRA). No
 * state means full. Taking units pushes that moment into the future; time passing brings it nearer.
 * Token bucket, pacing, leaky bucket, debt, interval refill and fixed windows are this one step with other arguments.
 *
 * A take of `k` ticks owns the interval `[tat, tat + k]` of the tick line, and its turn comes when the end of that interval
 * is `burst` ahead of now. The invariant: no two takes own the same tick, and each interval lies between its turn and
 * `burst` ticks after it. Hence in any span of time `t` at most `burst + t` ticks have their turn.
 *
 * A refund removes a take's interval and moves the takes behind it down, `tat` with them. It returns
 *
 *     end    = where the take's interval ends now
 *     floor  = now for the last take, else max(now, the latest turn)
 *     return = min(ticks refunded, end − floor), 0 at least
 *
 * because time has given back what lies below now, and no take may come to lie before its turn. A state without
 * refunds knows both: the last take ends at `tat`, and has its turn at `tat − burst`. A state that has seen a refund of
 * another take than the last has two more numbers: `gross` is what `tat` would be if no take had been moved down, and
 * `turn` is the latest turn. A take is known by `gross` after it, and ends at that less `gross − tat`. A refund of the last
 * take lowers both: a take and its refund leave the state as it was. So does time, once it has passed `gross`.
 *
 * Where the exact number is not known, less is returned, never more: a refund of a later take counts as one of an earlier,
 * but no take ends before its turn and its ticks; a debt counts as if it had a turn; after a clock has stepped back by more
 * than the bucket holds, takes from before return nothing, and neither do those of a reset or evicted state.
 *
 * The kernel is written in TypeScript here, in Lua and in SQL, in the same order with the same names.
 */
export interface BucketStep {
  readonly kernel: 'bucket'
  /** Ticks the take adds to `tat`; negative refunds. A tick is a microsecond, or a unit where there is a `grain`. */
  readonly increment: number
  /** Ticks that must fit for the take to be allowed: `increment`, or less where a request may be paid for later. */
  readonly check: number
  /** How many ticks ahead of now `tat` may be pushed: the size of the bucket. */
  readonly tolerance: number
  /** How many ticks ahead of now an honest `tat` can be; one farther ahead was written before the clock stepped back. */
  readonly ceiling: number
  /** Ticks that go at once: a take's turn comes when `tat` after it is no farther ahead of now. */
  readonly burst: number
  /** How long the caller would wait for the units. */
  readonly patience: Micros
  /** Which take is refunded: `gross` after it; `Number.MAX_SAFE_INTEGER` where that is not known. */
  readonly until: number
  /** The tick at which the refunded take ends at the earliest: its turn and its ticks. */
  readonly ends: number
  /** Refunds all that the take has taken. */
  readonly whole: boolean
  /** How a bucket refills in whole amounts; `null` refills continuously. */
  readonly grain: Grain | null
  /** How a key without a state starts; `null` starts full. */
  readonly start: Start | null
  /** Looks without taking: nothing is written. */
  readonly peek: boolean
}

/** A bucket refilled by `amount` units every `every`; `unit` is the time that stands for one unit in the state. */
export interface Grain {
  readonly every: Micros
  readonly amount: number
  readonly unit: Micros
  /** Added to the clock before it is divided: 0 starts the intervals at 1970 UTC. */
  readonly shift: Micros
}

/** A bucket's state: `tat` alone, or with `gross` as long as some refund has moved later takes down. */
export type BucketState = number | RefundedBucket

/** The state of a bucket in which a refund has moved later takes down. */
export interface RefundedBucket {
  /** The moment the bucket is full again or later, negative where that is farther ahead than the ceiling. */
  readonly tat: number
  /** What `tat` would be without those refunds: from then on the state is the same as none. */
  readonly gross: Micros
  /** The latest turn of the takes until the last refund; 0 where it is past, or has always been `tat − burst`. */
  readonly turn: Micros
}

/** What a store saw when it made a bucket step. */
export interface BucketTaken {
  /** This step fits by itself. A batch takes only when every step of it fits. */
  readonly allowed: boolean
  readonly now: Micros
  /** The tick at which the bucket was full again before the step, never in the past. */
  readonly base: number
  /** The tick at which it is full again now: later than `base` if taken, earlier if refunded. */
  readonly tat: number
  /** What `tat` would be if no refund had moved takes down: by this number a take can be refunded; else `tat`. */
  readonly gross: number
}

/** What the kernel found out: whether the step fits, and the state to keep either way. */
export interface BucketOutcome {
  readonly allowed: boolean
  readonly base: number
  /** The tick `tat` if taken. */
  readonly next: number
  /** The tick `gross` if taken. */
  readonly grossNext: number
  /** The state to store if taken. */
  readonly taken: BucketState | undefined
  /** The state to store if not: the same, unless the clock has stepped back past it. */
  readonly kept: BucketState | undefined
}

/** The farthest that `gross` is ahead of `tat`, so that it can be counted: some 31 years. */
export const MOST_RETURNED: Micros = 1e15

/** The farthest that a clock may step back with takes from before still refunded: what is brought back moves them down. */
export const LONGEST_STEP: Micros = 3_600e6

/**
 * Steps a bucket.
 *
 * A stored `tat` farther ahead than `ceiling` can only come from a clock that has since stepped back. It is brought
 * back to the ceiling, an empty bucket, so that the step mints nothing and locks out for no longer than the bucket
 * takes to fill. Debts and bookings reach farther on purpose: those are stored with a minus sign and left alone.
 */
export function bucket(stored: BucketState | undefined, now: Micros, step: BucketStep): BucketOutcome {
  const state = startedState(stored, now, step)
  const at = tickOf(now, step.grain)
  const due = step.patience === 0 ? at : tickOf(now + step.patience, step.grain)
  const found = foundIn(state, at, step)
  const { base } = found
  const next = step.increment < 0 ? refund(found, at, step) : take(found, step)
  const allowed = base + step.check - due <= step.tolerance
  return {
    allowed,
    base,
    next: next.base,
    grossNext: next.gross,
    taken: state === undefined && next.base === at ? undefined : stateAt(next, at, step),
    kept: found.honest ? state : stateAt(found, at, step),
  }
}

/** A state in ticks; `base` is `tat`, never in the past. */
interface Ticks {
  readonly base: number
  readonly gross: number
  readonly turn: number
  /** Not brought back from the future. */
  readonly honest: boolean
}

function foundIn(state: BucketState | undefined, at: number, step: BucketStep): Ticks {
  const { grain, ceiling } = step
  if (state === undefined) return { base: at, gross: at, turn: 0, honest: true }
  const stored = typeof state === 'number' ? state : state.tat
  const tat = fullTick(Math.abs(stored), grain)
  const honest = stored < 0 || tat - at <= ceiling
  const base = Math.max(honest ? tat : at + ceiling, at)
  const gross = Math.max(typeof state === 'number' ? tat : fullTick(state.gross, grain), base)
  if (honest) return { base, gross, turn: typeof state === 'number' ? 0 : turnTick(state.turn, grain), honest }
  // What is brought back moves takes down, too, nobody knows by how much each: they return nothing until they are over.
  const known = (gross - base) * microsOf(grain) <= LONGEST_STEP
  return { base, gross: known ? gross : base, turn: known ? gross : 0, honest }
}

function take({ base, gross, turn }: Ticks, { increment, grain }: BucketStep): Ticks {
  const next = base + increment
  return { base: next, gross: atMost(gross + increment, next, grain), turn, honest: true }
}

function refund({ base, gross, turn }: Ticks, at: number, step: BucketStep): Ticks {
  const last = step.until === gross
  const latest = Math.max(turn, base - step.burst)
  const returned = returnedBy(step, last, at, base, gross, latest)
  const next = base - returned
  return {
    base: next,
    gross: atMost(last ? gross - returned : gross, next, step.grain),
    turn: returned === 0 || (last && step.whole && gross === base) ? turn : latest,
    honest: true,
  }
}

/** The ticks a refund returns; none of a take that is not in the state, as after a reset. */
function returnedBy(step: BucketStep, last: boolean, at: number, base: number, gross: number, turn: number): number {
  const { increment, until, ends } = step
  if (last || until === Number.MAX_SAFE_INTEGER) return Math.min(-increment, base - at)
  if (until > gross) return 0
  const end = Math.max(until - (gross - base), ends)
  return Math.max(Math.min(-increment, end - Math.max(at, turn)), 0)
}

const atMost = (gross: number, tat: number, grain: Grain | null): number =>
  gross === tat ? gross : Math.min(gross, tat + Math.floor(MOST_RETURNED / microsOf(grain)))

/** The plain state of a bucket that is as a step has found it; none if it is full. */
export function bucketState(
  { now, base }: Pick<BucketTaken, 'now' | 'base'>,
  step: BucketStep,
): BucketState | undefined {
  const at = tickOf(now, step.grain)
  return base === at ? undefined : stateAt({ base, gross: base, turn: 0, honest: true }, at, step)
}

/** The tick the clock shows: with a grain it jumps by a whole amount at each interval's start. */
export function tickOf(now: Micros, grain: Grain | null): number {
  return grain === null ? now : Math.floor((now + grain.shift) / grain.every) * grain.amount
}

/** The first moment at which the clock shows `tick` or more. */
export function momentOf(tick: number, grain: Grain | null): Micros {
  return grain === null ? tick : Math.ceil(tick / grain.amount) * grain.every - grain.shift
}

function fullTick(moment: Micros, grain: Grain | null): number {
  if (grain === null) return moment
  const shifted = moment + grain.shift - grain.every
  const units = Math.ceil((shifted % grain.every) / grain.unit)
  return Math.floor(shifted / grain.every) * grain.amount + Math.min(units, grain.amount)
}

const microsOf = (grain: Grain | null): Micros => grain?.unit ?? 1

const turnTick = (turn: Micros, grain: Grain | null): number => (turn === 0 ? 0 : fullTick(turn, grain))

function stateAt({ base, gross, turn }: Ticks, at: number, { grain, ceiling }: BucketStep): BucketState {
  const moment = fullMoment(base, grain)
  const tat = base - at > ceiling ? -moment : moment
  const ahead = turn > at
  if (gross === base && !ahead) return tat
  return { tat, gross: fullMoment(gross, grain), turn: ahead ? fullMoment(turn, grain) : 0 }
}

// The state is kept as a moment even where the clock counts units, so that a changed quota finds a sensible bucket. It
// is kept an interval late then, so that a state in the past is always that of a full bucket, and may be forgotten.
export function fullMoment(tick: number, grain: Grain | null): Micros {
  return grain === null
    ? tick
    : Math.floor(tick / grain.amount) * grain.every + (tick % grain.amount) * grain.unit + grain.every - grain.shift
}
