import type { Micros } from '../time.ts'
import { type BucketState, type BucketStep, fullMoment, tickOf } from './bucket.ts'

/** How a bucket starts that is not full at first. */
export interface Start {
  /** Ticks that are missing at first. */
  readonly lacking: number
  /** How long a bucket stays known after it is full: later, its key counts as new. */
  readonly keep: Micros
}

/** The state that a step finds: of a new key, and of one whose bucket has been full for `keep`, the state it starts with. */
export function startedState(state: BucketState | undefined, now: Micros, step: BucketStep): BucketState | undefined {
  const { start, grain } = step
  if (start === null) return state
  if (state !== undefined && fullBy(state) + start.keep > now) return state
  return fullMoment(tickOf(now, grain) + start.lacking, grain)
}

/** The moment from which on a bucket is full whatever it has seen. */
export const fullBy = (state: BucketState): Micros => (typeof state === 'number' ? Math.abs(state) : state.gross)
