import type { Micros } from '../time.ts'

/** A bucket refilled by `amount` units every `every`; `unit` is the time that stands for one unit in the state. */
export interface RefillSchedule {
  readonly interval: Micros
  readonly amount: number
  readonly tick: Micros
  /** Added to the clock before it is divided: 0 starts the intervals at 1970 UTC. */
  readonly offset: Micros
}

/** The tick the clock shows: with a grain it jumps by a whole amount at each interval's start. */
export function tickOf(now: Micros, schedule: RefillSchedule | null): number {
  return schedule === null ? now : Math.floor((now + schedule.offset) / schedule.interval) * schedule.amount
}

/** The first moment at which the clock shows `tick` or more. */
export function momentOf(tick: number, schedule: RefillSchedule | null): Micros {
  return schedule === null ? tick : Math.ceil(tick / schedule.amount) * schedule.interval - schedule.offset
}

export function fullTick(moment: Micros, schedule: RefillSchedule | null): number {
  if (schedule === null) return moment
  const shifted = moment + schedule.offset - schedule.interval
  const units = Math.ceil((shifted % schedule.interval) / schedule.tick)
  return Math.floor(shifted / schedule.interval) * schedule.amount + Math.min(units, schedule.amount)
}

export const microsOf = (schedule: RefillSchedule | null): Micros => schedule?.tick ?? 1

export const turnTick = (turn: Micros, schedule: RefillSchedule | null): number =>
  turn === 0 ? 0 : fullTick(turn, schedule)

/**
 * The state is kept as a moment even where the clock counts units, so that a changed quota finds a sensible bucket. It is
 * kept an interval late then, so that a state in the past is always that of a full bucket, and may be forgotten.
 */
export function fullMoment(tick: number, schedule: RefillSchedule | null): Micros {
  return schedule === null
    ? tick
    : Math.floor(tick / schedule.amount) * schedule.interval +
        (tick % schedule.amount) * schedule.tick +
        schedule.interval -
        schedule.offset
}
