import type { Micros } from '../common/time.ts'
import { type BucketOutcome, type BucketStep, bucket } from './bucket.ts'
import type { BucketState } from './bucket-state.ts'
import { type BucketTaken, bucketTaken } from './bucket-taken.ts'
import type { Outcome, State, Step, Taken } from './kernel.ts'
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

/** A kernel, as stores run it. */
export interface Kernel<S extends Step = Step, O extends Outcome = Outcome, T extends Taken = Taken> {
  /** Runs a step. The state of another kernel is ignored, as if the key were new. */
  run(state: State | undefined, now: Micros, step: S): O
  /** The answer of a store to the step, depending on whether its batch was written. */
  takenOf(outcome: O, now: Micros, step: S, written: boolean): T
  /** When a state that the step has written may be deleted: from then on it equals that of a new key. */
  emptyAt(state: State, step: S): Micros
}

const isBucketState = (state: State | undefined): state is BucketState =>
  typeof state === 'number' || (typeof state === 'object' && 'gross' in state)

export const bucketKernel: Kernel<BucketStep, BucketOutcome, BucketTaken> = {
  run: (state, now, step) => bucket(isBucketState(state) ? state : undefined, now, step),
  takenOf({ allowed, base, next, grossNext, early }, now, { fraction }, written) {
    const full = { tick: base, early: early.base }
    if (!written) return bucketTaken(fraction, allowed, now, full, full)
    const gross = { tick: grossNext, early: early.gross }
    return bucketTaken(fraction, allowed, now, full, { tick: next, early: early.tat }, gross)
  },
  emptyAt: (state, { start }) => (isBucketState(state) ? fullBy(state) + (start?.keep ?? 0) : 0),
}

const isWindowState = (state: State | undefined): state is SlidingWindowState =>
  typeof state === 'object' && 'start' in state

export const windowKernel: Kernel<SlidingWindowStep, SlidingWindowOutcome, SlidingWindowTaken> = {
  run: (state, now, step) => slidingWindow(isWindowState(state) ? state : undefined, now, step),
  takenOf({ allowed, base, next }, now, _, written) {
    const { start, current, previous } = written ? next : base
    return { allowed, now, start, current, previous }
  },
  emptyAt: (state, step) => (isWindowState(state) ? windowsOver(state, step) : 0),
}

const isLog = (state: State | undefined): state is SlidingLogState => Array.isArray(state)

export const logKernel: Kernel<SlidingLogStep, SlidingLogOutcome, SlidingLogTaken> = {
  run: (state, now, step) => slidingLog(isLog(state) ? state : undefined, now, step),
  takenOf: readLog,
  emptyAt: (state, { window }) => (isLog(state) && state.length > 0 ? (state[state.length - 2] as number) + window : 0),
}

const isWarmUpState = (state: State | undefined): state is WarmUpState => typeof state === 'object' && 'cold' in state

export const warmUpKernel: Kernel<WarmUpStep, WarmUpOutcome, WarmUpTaken> = {
  run: (state, now, step) => warmUp(isWarmUpState(state) ? state : undefined, now, step),
  takenOf({ allowed, base, next }, now, _, written) {
    const { ahead, early, cold } = written ? next : base
    const { ahead: aheadBefore, early: earlyBefore, cold: coldBefore } = base
    return { allowed, now, aheadBefore, earlyBefore, coldBefore, ahead, early, cold }
  },
  emptyAt: (state, { half }) => (isWarmUpState(state) ? coldAt(state, half) : 0),
}

const isPenaltyState = (state: State | undefined): state is PenaltyState =>
  typeof state === 'object' && 'level' in state

export const penaltyKernel: Kernel<PenaltyStep, PenaltyOutcome, PenaltyTaken> = {
  run: (state, now, step) => penalty(isPenaltyState(state) ? state : undefined, now, step),
  takenOf({ allowed, base, next }, now, _, written) {
    const { first, count, until, level, last } = written ? next : base
    return { allowed, now, first, count, until, level, last }
  },
  emptyAt: (state, step) => (isPenaltyState(state) ? forgivenAt(state, step) : 0),
}

/** The kernels by their names: for what runs the steps of quotas that were built elsewhere. */
export const KERNELS: Readonly<Record<Step['kernel'], Kernel>> = {
  bucket: bucketKernel,
  'sliding-window': windowKernel,
  'sliding-log': logKernel,
  'warm-up': warmUpKernel,
  penalty: penaltyKernel,
}
