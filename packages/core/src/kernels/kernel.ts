import type { BucketState } from './bucket-state.ts'
import type { BucketTaken } from './bucket-taken.ts'
import type { BucketOutcome, BucketStep } from './bucket-types.ts'
import type { PenaltyOutcome, PenaltyState, PenaltyStep, PenaltyTaken } from './penalty.ts'
import type { SlidingLogOutcome, SlidingLogState, SlidingLogStep, SlidingLogTaken } from './sliding-log.ts'
import type {
  SlidingWindowOutcome,
  SlidingWindowState,
  SlidingWindowStep,
  SlidingWindowTaken,
} from './sliding-window.ts'
import type { SlotsOutcome, SlotsState, SlotsStep, SlotsTaken } from './slots.ts'
import type { WarmUpOutcome, WarmUpState, WarmUpStep, WarmUpTaken } from './warm-up.ts'

/** The arguments of a kernel; `kernel` names it. */
export type Step = BucketStep | SlidingWindowStep | SlidingLogStep | WarmUpStep | PenaltyStep | SlotsStep

/** The state of a key. What a kernel does with the state of another kernel is in `kernels.ts`. */
export type State = BucketState | SlidingWindowState | SlidingLogState | WarmUpState | PenaltyState | SlotsState

/** The result of a step in a store; `decide` turns it into a `Decision`. */
export type Taken = BucketTaken | SlidingWindowTaken | SlidingLogTaken | WarmUpTaken | PenaltyTaken | SlotsTaken

/** The result of a kernel. The store writes `taken` if the whole batch is allowed, else `kept`. */
export type Outcome =
  | BucketOutcome
  | SlidingWindowOutcome
  | SlidingLogOutcome
  | WarmUpOutcome
  | PenaltyOutcome
  | SlotsOutcome

/** A copy of a result that a prepared take may overwrite. */
export function copyOf(taken: Taken): Taken {
  if (!('base' in taken)) return { ...taken }
  const { allowed, now, base, tat, early, gross } = taken
  // Written out for the most common result: spreading it costs more than the take.
  if (early === undefined && gross === undefined) return { allowed, now, base, tat }
  return early === undefined ? { ...taken } : { ...taken, early: { ...early } }
}

/** The result of one take equal to several takes at one moment, from `first` to `last`. */
export const spanning = (first: Taken, last: Taken): Taken =>
  'base' in first && 'base' in last ? { ...last, base: first.base, ...earlySpanning(first, last) } : last

const earlySpanning = (first: BucketTaken, last: BucketTaken): Pick<BucketTaken, 'early'> =>
  first.early && last.early ? { early: { ...last.early, base: first.early.base } } : {}
