import type { Micros } from '../time.ts'
import { type BucketOutcome, type BucketStep, type BucketTaken, bucket } from './bucket.ts'
import type { BucketState } from './bucket-state.ts'
import type { Earlies } from './fraction.ts'
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
} from './sliding-window.ts'
import { fullBy } from './start.ts'

/** The arguments of a kernel, told apart by `kernel`. */
export type Step = BucketStep | SlidingWindowStep | SlidingLogStep

/** The state of a key. One that another kernel has written is as good as none. */
export type State = BucketState | SlidingWindowState | SlidingLogState

/** What a store saw when it made a step; `decide` turns it into what a caller wants to know. */
export type Taken = BucketTaken | SlidingWindowTaken | SlidingLogTaken

/** What a kernel found out. `taken` is to be stored if its batch goes through, `kept` if not. */
export type Outcome = BucketOutcome | SlidingWindowOutcome | SlidingLogOutcome

const isBucketState = (state: State | undefined): state is BucketState =>
  typeof state === 'number' || (typeof state === 'object' && 'gross' in state)

/** Makes a step, with the kernel it is for. */
export function runKernel(state: State | undefined, now: Micros, step: Step): Outcome {
  switch (step.kernel) {
    case 'bucket':
      return bucket(isBucketState(state) ? state : undefined, now, step)
    case 'sliding-window':
      return slidingWindow(typeof state === 'object' && 'start' in state ? state : undefined, now, step)
    case 'sliding-log':
      return slidingLog(Array.isArray(state) ? state : undefined, now, step)
  }
}

/** What a store answers once it knows whether the batch of an outcome was written. */
export function takenOf(outcome: Outcome, now: Micros, step: Step, written: boolean): Taken {
  switch (step.kernel) {
    case 'bucket': {
      const { allowed, base, next, grossNext, early } = outcome as BucketOutcome
      const taken = { allowed, now, base, tat: written ? next : base, gross: written ? grossNext : base }
      return step.fraction === null ? taken : { ...taken, early: earliesOf(early, step.fraction.scale, written) }
    }
    case 'sliding-window': {
      const { allowed, base, next } = outcome as SlidingWindowOutcome
      return { allowed, now, ...(written ? next : base) }
    }
    case 'sliding-log':
      return readLog(outcome as SlidingLogOutcome, now, step, written)
  }
}

const earliesOf = ({ base, tat, gross }: BucketOutcome['early'], scale: number, written: boolean): Earlies =>
  written ? { scale, base, tat, gross } : { scale, base, tat: base, gross: base }

/** What one take would have seen that takes as much as several have taken at one moment, from `first` to `last`. */
export const spanning = (first: Taken, last: Taken): Taken =>
  'base' in first && 'base' in last ? { ...last, base: first.base, ...earlySpanning(first, last) } : last

const earlySpanning = (first: BucketTaken, last: BucketTaken): Pick<BucketTaken, 'early'> =>
  first.early && last.early ? { early: { ...last.early, base: first.early.base } } : {}

/** The moment from which on a state that `step` has written is the same as none. */
export function emptyAt(state: State, step: Step): Micros {
  switch (step.kernel) {
    case 'bucket':
      return isBucketState(state) ? fullBy(state) + (step.start?.keep ?? 0) : 0
    case 'sliding-window':
      return typeof state === 'object' && 'start' in state
        ? state.start + (step.fixed ? 1 : 2) * step.ticks * step.tick
        : 0
    case 'sliding-log':
      return Array.isArray(state) && state.length > 0 ? state[state.length - 2] + step.window : 0
  }
}
