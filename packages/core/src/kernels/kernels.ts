import { LONGEST, type Micros } from '../common/time.ts'
import { bucket } from './bucket.ts'
import type { BucketState } from './bucket-state.ts'
import { type BucketTaken, bucketTaken } from './bucket-taken.ts'
import type { BucketOutcome, BucketStep } from './bucket-types.ts'
import type { Outcome, State, Step, Taken } from './kernel.ts'
import {
  forgivenAt,
  type PenaltyOutcome,
  type PenaltyState,
  type PenaltyStep,
  type PenaltyTaken,
  penalty,
} from './penalty.ts'
import { fullMoment, microsOf, tickOf } from './refill-schedule.ts'
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
  startAt,
  windowsOver,
} from './sliding-window.ts'
import { freeAt, type SlotsOutcome, type SlotsState, type SlotsStep, type SlotsTaken, slots, usedIn } from './slots.ts'
import { fullBy } from './start.ts'
import { countedBy, usedBy } from './used.ts'
import { coldAt, type WarmUpOutcome, type WarmUpState, type WarmUpStep, type WarmUpTaken, warmUp } from './warm-up.ts'

/** A kernel, as stores run it. */
export interface Kernel<S extends Step = Step, O extends Outcome = Outcome, T extends Taken = Taken> {
  /**
   * Runs a step. A state of another kernel is adopted: what that has counted is consumed from a new key. A denial writes it,
   * too, so that its wait holds.
   */
  run(state: State | undefined, now: Micros, step: S): O
  /** The answer of a store to the step, depending on whether its batch was written. */
  takenOf(outcome: O, now: Micros, step: S, written: boolean): T
  /** When a state that the step has written may be deleted: from then on it equals that of a new key. */
  emptyAt(state: State, step: S): Micros
}

/* @__NO_SIDE_EFFECTS__ */
const running =
  <S extends State, P extends Step, O extends Outcome>(
    kernel: (state: S | undefined, now: Micros, step: P) => O,
    owns: (state: State) => state is S,
    adopt: (state: State, now: Micros, step: P) => S | undefined,
  ): Kernel<P, O>['run'] =>
  (state, now, step) =>
    kernel(state === undefined || owns(state) ? state : adopt(state, now, step), now, step)

const isBucketState = (state: State): state is BucketState =>
  typeof state === 'number' || (typeof state === 'object' && 'gross' in state)

function adoptedBucket(state: State, now: Micros, step: BucketStep): BucketState | undefined {
  const { schedule, ceiling, increment } = step
  const [tick, size] = [tickOf(now, schedule), microsOf(schedule)]
  const { units, since, micros } = usedBy(state, now, ceiling * size)
  const used = units * Math.abs(increment) - (tick - tickOf(since, schedule))
  const ticks = Math.min(Math.max(used, Math.ceil(micros / size)), ceiling)
  return ticks > 0 ? fullMoment(tick + ticks, schedule) : undefined
}

export const bucketKernel: Kernel<BucketStep, BucketOutcome, BucketTaken> = {
  run: running(bucket, isBucketState, adoptedBucket),
  takenOf({ allowed, base, next, grossNext, early }, now, { fraction }, written) {
    const full = { tick: base, early: early.base }
    if (!written) return bucketTaken(fraction, allowed, now, full, full)
    const gross = { tick: grossNext, early: early.gross }
    return bucketTaken(fraction, allowed, now, full, { tick: next, early: early.tat }, gross)
  },
  emptyAt: (state, { start }) => (isBucketState(state) ? fullBy(state) + (start?.keep ?? 0) : 0),
}

const isWindowState = (state: State): state is SlidingWindowState => typeof state === 'object' && 'start' in state

function adoptedWindow(state: State, now: Micros, step: SlidingWindowStep): SlidingWindowState | undefined {
  const { limit, ticks, tick, calendar } = step
  const { units, since } = countedBy(state, now, limit, ticks * tick)
  const start = calendar === null ? startAt(since, step) : calendar.windowAt(undefined, now).start
  return units === 0 || since < start ? undefined : { start, current: units, previous: 0 }
}

export const windowKernel: Kernel<SlidingWindowStep, SlidingWindowOutcome, SlidingWindowTaken> = {
  run: running(slidingWindow, isWindowState, adoptedWindow),
  takenOf({ allowed, base, next }, now, _, written) {
    const { start, current, previous } = written ? next : base
    return { allowed, now, start, current, previous }
  },
  emptyAt: (state, step) => (isWindowState(state) ? windowsOver(state, step) : 0),
}

const isLog = (state: State): state is SlidingLogState => Array.isArray(state)

function adoptedLog(state: State, now: Micros, { limit, window }: SlidingLogStep): SlidingLogState | undefined {
  const { units, since } = countedBy(state, now, limit, window)
  return units === 0 ? undefined : [since, units]
}

export const logKernel: Kernel<SlidingLogStep, SlidingLogOutcome, SlidingLogTaken> = {
  run: running(slidingLog, isLog, adoptedLog),
  takenOf: readLog,
  emptyAt: (state, { window }) => (isLog(state) && state.length > 0 ? (state[state.length - 2] as number) + window : 0),
}

const isWarmUpState = (state: State): state is WarmUpState => typeof state === 'object' && 'cold' in state

function adoptedWarmUp(state: State, now: Micros, step: WarmUpStep): WarmUpState | undefined {
  const { increment, half, scale } = step
  // A refund returns nothing: its take was of another state.
  if (increment < 0) return undefined
  const { units, since, micros } = usedBy(state, now, Infinity)
  const ahead = Math.min(Math.max(micros, units * increment - (now - since)), LONGEST)
  return ahead > 0 ? { writtenAt: now, ahead, early: 0, cold: 2 * half, scale } : undefined
}

export const warmUpKernel: Kernel<WarmUpStep, WarmUpOutcome, WarmUpTaken> = {
  run: running(warmUp, isWarmUpState, adoptedWarmUp),
  takenOf({ allowed, base, next }, now, _, written) {
    const { ahead, early, cold } = written ? next : base
    const { ahead: aheadBefore, early: earlyBefore, cold: coldBefore } = base
    return { allowed, now, aheadBefore, earlyBefore, coldBefore, ahead, early, cold }
  },
  emptyAt: (state, { half }) => (isWarmUpState(state) ? coldAt(state, half) : 0),
}

const isPenaltyState = (state: State): state is PenaltyState => typeof state === 'object' && 'level' in state

function adoptedPenalty(state: State, now: Micros, { limit, window }: PenaltyStep): PenaltyState | undefined {
  const { units, since } = countedBy(state, now, limit, window)
  return units === 0 ? undefined : { writtenAt: now, first: since, count: units, until: 0, level: 0, last: 0 }
}

export const penaltyKernel: Kernel<PenaltyStep, PenaltyOutcome, PenaltyTaken> = {
  run: running(penalty, isPenaltyState, adoptedPenalty),
  takenOf({ allowed, base, next }, now, _, written) {
    const { first, count, until, level, last } = written ? next : base
    return { allowed, now, first, count, until, level, last }
  },
  emptyAt: (state, step) => (isPenaltyState(state) ? forgivenAt(state, step) : 0),
}

const isSlots = (state: State): state is SlotsState => typeof state === 'object' && 'slots' in state

export const slotsKernel: Kernel<SlotsStep, SlotsOutcome, SlotsTaken> = {
  // What another kernel has counted is not in use.
  run: running(slots, isSlots, () => undefined),
  takenOf: ({ allowed, base, next, id }, now, _, written) => ({
    allowed,
    now,
    used: usedIn(written ? next : base, now),
    id: written ? id : 0,
  }),
  emptyAt: (state) => (isSlots(state) ? freeAt(state) : 0),
}

/** The kernels by their names: for what runs the steps of quotas that were built elsewhere. */
export const KERNELS: Readonly<Record<Step['kernel'], Kernel>> = {
  bucket: bucketKernel,
  'sliding-window': windowKernel,
  'sliding-log': logKernel,
  'warm-up': warmUpKernel,
  penalty: penaltyKernel,
  slots: slotsKernel,
}
