import type { Micros } from '../common/time.ts'
import type { BucketState } from './bucket-state.ts'
import type { Fraction } from './fraction.ts'
import { fullMoment, type RefillSchedule, tickOf } from './refill-schedule.ts'

/** The start of a bucket that is not full at first. */
export interface Start {
  /** Ticks that are missing at first. */
  readonly lacking: number
  /** The part of a microsecond by which that is less, in parts of the quota's `scale`. */
  readonly early: number
  /** How long a full bucket's state is kept, in microseconds. After that, its key is new. */
  readonly keep: Micros
}

/** The parts of a step that decide about new keys. */
interface Starting {
  readonly start: Start | null
  readonly schedule: RefillSchedule | null
  readonly fraction: Fraction | null
}

/** The stored state; for a new key, or one whose bucket has been full for `keep`, the initial state. */
export function startedState(state: BucketState | undefined, now: Micros, step: Starting): BucketState | undefined {
  const { start, schedule, fraction } = step
  if (start === null) return state
  if (state !== undefined && fullBy(state) + start.keep > now) return state
  const tat = fullMoment(tickOf(now, schedule) + start.lacking, schedule)
  const { early } = start
  if (fraction === null || early === 0) return tat
  return { tat, gross: tat, turn: 0, scale: fraction.scale, early, grossEarly: early }
}

/** The moment from which on a bucket is full, with or without refunds. */
export const fullBy = (state: BucketState): Micros => (typeof state === 'number' ? Math.abs(state) : state.gross)
