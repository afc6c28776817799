import type { Micros } from '../time.ts'

/** A bucket refilled by `amount` units every `every`; `unit` is the time that stands for one unit in the state. */
export interface Grain {
  readonly every: Micros
  readonly amount: number
  readonly unit: Micros
  /** Added to the clock before it is divided: 0 starts the intervals at 1970 UTC. */
  readonly shift: Micros
}

/** The tick the clock shows: with a grain it jumps by a whole amount at each interval's start. */
export function tickOf(now: Micros, grain: Grain | null): number {
  return grain === null ? now : Math.floor((now + grain.shift) / grain.every) * grain.amount
}

/** The first moment at which the clock shows `tick` or more. */
export function momentOf(tick: number, grain: Grain | null): Micros {
  return grain === null ? tick : Math.ceil(tick / grain.amount) * grain.every - grain.shift
}

export function fullTick(moment: Micros, grain: Grain | null): number {
  if (grain === null) return moment
  const shifted = moment + grain.shift - grain.every
  const units = Math.ceil((shifted % grain.every) / grain.unit)
  return Math.floor(shifted / grain.every) * grain.amount + Math.min(units, grain.amount)
}

export const microsOf = (grain: Grain | null): Micros => grain?.unit ?? 1

export const turnTick = (turn: Micros, grain: Grain | null): number => (turn === 0 ? 0 : fullTick(turn, grain))

/**
 * The state is kept as a moment even where the clock counts units, so that a changed quota finds a sensible bucket. It is
 * kept an interval late then, so that a state in the past is always that of a full bucket, and may be forgotten.
 */
export function fullMoment(tick: number, grain: Grain | null): Micros {
  return grain === null
    ? tick
    : Math.floor(tick / grain.amount) * grain.every + (tick % grain.amount) * grain.unit + grain.every - grain.shift
}
