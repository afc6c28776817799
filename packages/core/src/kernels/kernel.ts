import type { Micros } from '../common/time.ts'
import { type BucketOutcome, type BucketStep, bucket } from './bucket.ts'
import type { BucketState } from './bucket-state.ts'
import { type BucketTaken, bucketTaken } from './bucket-taken.ts'
import {
  forgivenAt,
  type PenaltyOutcome,
  type PenaltyState,
  type PenaltyStep,
  type PenaltyTaken,
  penalty,
} from './penalty.ts'
import {
  readLog,
  type SlidingLogOutcome,
  type SlidingLogState,
  type SlidingLogStep,
  type SlidingLogTaken,
  slidingLog,
} from './sliding-log.ts'
import {
  type SlidingWindowOutcome,
  type SlidingWindowState,
  type SlidingWindowStep,
  type SlidingWindowTaken,
  slidingWindow,
  windowsOver,
} from './sliding-window.ts'
import { fullBy } from './start.ts'
import { coldAt, type WarmUpOutcome, type WarmUpState, type WarmUpStep, type WarmUpTaken, warmUp } from './warm-up.ts'

/** The arguments of a kernel; `kernel` names it. */
export type Step = BucketStep | SlidingWindowStep | SlidingLogStep | WarmUpStep | PenaltyStep

/** The state of a key. A kernel ignores the state of another kernel, as if the key were new. */
export type State = BucketState | SlidingWindowState | SlidingLogState | WarmUpState | PenaltyState

/** The result of a step in a store; `decide` turns it into a `Decision`. */
export type Taken = BucketTaken | SlidingWindowTaken | SlidingLogTaken | WarmUpTaken | PenaltyTaken

/** The result of a kernel. The store writes `taken` if the whole batch is allowed, else `kept`. */
export type Outcome = BucketOutcome | SlidingWindowOutcome | SlidingLogOutcome | WarmUpOutcome | PenaltyOutcome

const isBucketState = (state: State | undefined): state is BucketState =>
  typeof state === 'number' || (typeof state === 'object' && 'gross' in state)

const isWarmUpState = (state: State | undefined): state is WarmUpState => typeof state === 'object' && 'cold' in state

const isPenaltyState = (state: State | undefined): state is PenaltyState =>
  typeof state === 'object' && 'level' in state

/** Runs the kernel that the step names. */
export function runKernel(state: State | undefined, now: Micros, step: Step): Outcome {
  switch (step.kernel) {
    case 'bucket':
      return bucket(isBucketState(state) ? state : undefined, now, step)
    case 'sliding-window':
      return slidingWindow(typeof state === 'object' && 'start' in state ? state : undefined, now, step)
    case 'sliding-log':
      return slidingLog(Array.isArray(state) ? state : undefined, now, step)
    case 'warm-up':
      return warmUp(isWarmUpState(state) ? state : undefined, now, step)
    case 'penalty':
      return penalty(isPenaltyState(state) ? state : undefined, now, step)
  }
}

/** The answer of a store to a step, depending on whether its batch was written. */
export function takenOf(outcome: Outcome, now: Micros, step: Step, written: boolean): Taken {
  switch (step.kernel) {
    case 'bucket': {
      const { allowed, base, next, grossNext, early } = outcome as BucketOutcome
      const full = { tick: base, early: early.base }
      if (!written) return bucketTaken(step.fraction, allowed, now, full, full)
      const gross = { tick: grossNext, early: early.gross }
      return bucketTaken(step.fraction, allowed, now, full, { tick: next, early: early.tat }, gross)
    }
    case 'sliding-window': {
      const { allowed, base, next } = outcome as SlidingWindowOutcome
      return { allowed, now, ...(written ? next : base) }
    }
    case 'sliding-log':
      return readLog(outcome as SlidingLogOutcome, now, step, written)
    case 'warm-up': {
      const { allowed, base, next } = outcome as WarmUpOutcome
      const { ahead, early, cold } = written ? next : base
      const { ahead: aheadBefore, early: earlyBefore, cold: coldBefore } = base
      return { allowed, now, aheadBefore, earlyBefore, coldBefore, ahead, early, cold }
    }
    case 'penalty': {
      const { allowed, base, next } = outcome as PenaltyOutcome
      const { first, count, until, level, last } = written ? next : base
      return { allowed, now, first, count, until, level, last }
    }
  }
}

/** A copy of a result that a prepared take may overwrite. */
export const copyOf = (taken: Taken): Taken =>
  'early' in taken && typeof taken.early === 'object'
    ? { ...(taken as BucketTaken), early: { ...taken.early } }
    : { ...taken }

/** The result of one take equal to several takes at one moment, from `first` to `last`. */
export const spanning = (first: Taken, last: Taken): Taken =>
  'base' in first && 'base' in last ? { ...last, base: first.base, ...earlySpanning(first, last) } : last

const earlySpanning = (first: BucketTaken, last: BucketTaken): Pick<BucketTaken, 'early'> =>
  first.early && last.early ? { early: { ...last.early, base: first.early.base } } : {}

/** When a state that `step` has written may be deleted: from then on it equals that of a new key. */
export function emptyAt(state: State, step: Step): Micros {
  switch (step.kernel) {
    case 'bucket':
      return isBucketState(state) ? fullBy(state) + (step.start?.keep ?? 0) : 0
    case 'sliding-window':
      return typeof state === 'object' && 'start' in state ? windowsOver(state, step) : 0
    case 'sliding-log':
      return Array.isArray(state) && state.length > 0 ? state[state.length - 2] + step.window : 0
    case 'warm-up':
      return isWarmUpState(state) ? coldAt(state, step.half) : 0
    case 'penalty':
      return isPenaltyState(state) ? forgivenAt(state, step) : 0
  }
}
