import type { Micros } from '../common/time.ts'

/** The refill of a bucket by `amount` units every `interval`; `tick` is the time that stands for one unit in the state. */
export interface RefillSchedule {
  readonly interval: Micros
  readonly amount: number
  readonly tick: Micros
  /** Added to the clock before it is divided: 0 starts the intervals at 1970 UTC. */
  readonly offset: Micros
}

/** The tick at `now`: with a schedule it grows by `amount` at the start of each interval. */
export function tickOf(now: Micros, schedule: RefillSchedule | null): number {
  return schedule === null ? now : Math.floor((now + schedule.offset) / schedule.interval) * schedule.amount
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
 * The state is a moment also if ticks are units, so that it stays meaningful when the quota changes. With a schedule it is
 * stored one interval late: a state in the past is always that of a full bucket, and may be evicted.
 */
export function fullMoment(tick: number, schedule: RefillSchedule | null): Micros {
  return schedule === null
    ? tick
    : Math.floor(tick / schedule.amount) * schedule.interval +
        (tick % schedule.amount) * schedule.tick +
        schedule.interval -
        schedule.offset
}
