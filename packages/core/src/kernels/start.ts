import type { Micros } from '../time.ts'
import type { BucketState } from './bucket-state.ts'
import type { Fraction } from './fraction.ts'
import { fullMoment, type RefillSchedule, tickOf } from './refill-schedule.ts'

/** How a bucket starts that is not full at first. */
export interface Start {
  /** Ticks that are missing at first. */
  readonly lacking: number
  /** How much less that is, in parts of the quota's `scale`. */
  readonly early: number
  /** How long a bucket stays known after it is full: later, its key counts as new. */
  readonly keep: Micros
}

/** What a step says of the buckets it finds. */
interface Starting {
  readonly start: Start | null
  readonly schedule: RefillSchedule | null
  readonly fraction: Fraction | null
}

/** The state that a step finds: of a new key, and of one whose bucket has been full for `keep`, the state it starts with. */
export function startedState(state: BucketState | undefined, now: Micros, step: Starting): BucketState | undefined {
  const { start, schedule, fraction } = step
  if (start === null) return state
  if (state !== undefined && fullBy(state) + start.keep > now) return state
  const tat = fullMoment(tickOf(now, schedule) + start.lacking, schedule)
  const { early } = start
  if (fraction === null || early === 0) return tat
  return { tat, gross: tat, turn: 0, scale: fraction.scale, early, grossEarly: early }
}

/** The moment from which on a bucket is full whatever it has seen. */
export const fullBy = (state: BucketState): Micros => (typeof state === 'number' ? Math.abs(state) : state.gross)
