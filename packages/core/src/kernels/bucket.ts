import type { Micros } from '../time.ts'

/**
 * The bucket kernel: one step of every quota that fills up and drains at a steady rate.
 *
 * The whole state of a key is one integer, `tat`: the moment the bucket is full again (queueing theory's "theoretical
 * arrival time"). No state means full. Taking units pushes that moment into the future; time passing brings it nearer.
 * Token bucket, pacing, leaky bucket, debt, interval refill and fixed windows are this one step with other arguments.
 *
 * The kernel is written in TypeScript here, in Lua and in SQL, in the same order with the same names.
 */
export interface BucketStep {
  readonly kernel: 'bucket'
  /** Ticks the take adds to `tat`; negative gives back. A tick is a microsecond, or a unit where there is a `grain`. */
  readonly increment: number
  /** Ticks that must fit for the take to be allowed: `increment`, or less where a request may be paid for later. */
  readonly check: number
  /** How many ticks ahead of now `tat` may be pushed: the size of the bucket. */
  readonly tolerance: number
  /** How many ticks ahead of now an honest `tat` can be; one farther ahead was written before the clock stepped back. */
  readonly ceiling: number
  /** How long the caller would wait for the units. */
  readonly patience: Micros
  /** The tick from which on there is nothing left to give back: the units have come back by themselves. */
  readonly until: number
  /** How a bucket refills in whole amounts; `null` refills continuously. */
  readonly grain: Grain | null
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

/** A bucket's state: the moment it is full again or later, negative where that is farther ahead than the ceiling. */
export type BucketState = number

/** What a store saw when it made a bucket step. */
export interface BucketTaken {
  /** This step fits by itself. A batch takes only when every step of it fits. */
  readonly allowed: boolean
  readonly now: Micros
  /** The tick at which the bucket was full again before the step, never in the past. */
  readonly base: number
  /** The tick at which it is full again now: later than `base` if taken, earlier if given back. */
  readonly tat: number
}

/** What the kernel found out: whether the step fits, and the state to keep either way. */
export interface BucketOutcome {
  readonly allowed: boolean
  readonly base: number
  /** The tick `tat` if taken. */
  readonly next: number
  /** The state to store if taken. */
  readonly taken: BucketState | undefined
  /** The state to store if not: the same, unless the clock has stepped back past it. */
  readonly kept: BucketState | undefined
}

/**
 * Steps a bucket.
 *
 * A stored `tat` farther ahead than `ceiling` can only come from a clock that has since stepped back. It is brought
 * back to the ceiling, an empty bucket, so that the step mints nothing and locks out for no longer than the bucket
 * takes to fill. Debts and bookings reach farther on purpose: those are stored with a minus sign and left alone.
 */
export function bucket(state: BucketState | undefined, now: Micros, step: BucketStep): BucketOutcome {
  const { grain } = step
  const at = tickOf(now, grain)
  const due = step.patience === 0 ? at : tickOf(now + step.patience, grain)
  const tat = state === undefined ? at : fullTick(Math.abs(state), grain)
  const honest = state === undefined || state < 0 || tat - at <= step.ceiling
  const base = Math.max(honest ? tat : at + step.ceiling, at)
  const next = Math.max(base + Math.max(step.increment, Math.min(at - step.until, 0)), at)
  const allowed = base + step.check - due <= step.tolerance
  return {
    allowed,
    base,
    next,
    taken: state === undefined && next === at ? undefined : stateAt(next, at, step),
    kept: honest ? state : stateAt(base, at, step),
  }
}

/** The state of a bucket that is as a step has found it; none if it is full. */
export function bucketState({ now, base }: BucketTaken, step: BucketStep): BucketState | undefined {
  const at = tickOf(now, step.grain)
  return base === at ? undefined : stateAt(base, at, step)
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

// The state is kept as a moment even where the clock counts units, so that a changed quota finds a sensible bucket. It
// is kept an interval late then, so that a state in the past is always that of a full bucket, and may be forgotten.
function stateAt(tick: number, at: number, { grain, ceiling }: BucketStep): BucketState {
  const moment =
    grain === null
      ? tick
      : Math.floor(tick / grain.amount) * grain.every + (tick % grain.amount) * grain.unit + grain.every - grain.shift
  return tick - at > ceiling ? -moment : moment
}
