import { processState } from '../common/process-state.ts'
import type { Micros } from '../common/time.ts'
import { bucketState } from '../kernels/bucket.ts'
import type { BucketState } from '../kernels/bucket-state.ts'
import { type BucketTaken, exactIn } from '../kernels/bucket-taken.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import type { State, Step, Taken } from '../kernels/kernel.ts'
import { MOST_UNITS, type PenaltyState, type PenaltyTaken } from '../kernels/penalty.ts'
import { microsOf } from '../kernels/refill-schedule.ts'
import type { SlidingLogStep, SlidingLogTaken } from '../kernels/sliding-log.ts'
import type { SlidingWindowState, SlidingWindowTaken } from '../kernels/sliding-window.ts'
import { fullBy } from '../kernels/start.ts'
import type { WarmUpTaken } from '../kernels/warm-up.ts'
import { isLong, stateNamer } from '../stores/state-name.ts'
import type { StateKey } from '../stores/store.ts'

/** The state that a denial reveals, valid until the next consume or refund; undefined if the denial does not determine it. */
export function cachedStateOf(step: Step, taken: Taken): State | undefined {
  switch (step.kernel) {
    case 'bucket':
      return bucketState(taken.now, exactIn(taken as BucketTaken, 'base'), step)
    case 'sliding-window': {
      const { start, current, previous } = taken as SlidingWindowTaken
      return current + previous === 0 ? undefined : { start, current, previous }
    }
    case 'sliding-log':
      return cachedLogOf(taken as SlidingLogTaken, step)
    case 'warm-up': {
      const { now: writtenAt, ahead, early, cold } = taken as WarmUpTaken
      return ahead === 0 ? undefined : { writtenAt, ahead, early, cold, scale: step.scale }
    }
    case 'penalty': {
      const { now: writtenAt, first, count, until, level, last } = taken as PenaltyTaken
      // A state that counts nothing may be that of another algorithm; only block lists share their states with none.
      if (count + level === 0 && step.limit < MOST_UNITS) return undefined
      return { writtenAt, first, count, until, level, last }
    }
    // Another process may release a slot at any time.
    case 'slots':
      return undefined
  }
}

/** A full log that frees its first and last unit when the real one does: later denials depend on nothing else. */
function cachedLogOf(
  { used, freesAt, emptyAt }: SlidingLogTaken,
  { limit, window }: SlidingLogStep,
): State | undefined {
  if (used !== limit || used === 0) return undefined
  return used === 1 ? [emptyAt - window, 1] : [freesAt - window, 1, emptyAt - window, used - 1]
}

/** A state, and the step whose answer revealed it. */
export interface CachedState {
  readonly step: Step
  readonly state: State
}

/**
 * Reports whether a key is certainly not new to a bucket that starts partly filled: it is if its bucket has been full for long.
 * The answer to another quota shows up to a tick later when that is.
 */
const isKept = (state: BucketState, { start, schedule }: BucketStep, now: Micros): boolean =>
  start === null || fullBy(state) + start.keep - microsOf(schedule) > now

/** Reports whether a cached state is valid for another step, now. */
export function isCompatible({ step: cached, state }: CachedState, step: Step, now: Micros): boolean {
  switch (step.kernel) {
    case 'bucket':
      return cached.kernel === 'bucket' && sameSchedule(cached, step) && isKept(state as BucketState, step, now)
    case 'sliding-window': {
      const window = step.ticks * step.tick
      if (cached.kernel !== 'sliding-window' || cached.ticks * cached.tick !== window) return false
      if (cached.fixed !== step.fixed || cached.calendar !== step.calendar || cached.offset !== step.offset)
        return false
      // The start of the next window depends on the stored state.
      return now - (state as SlidingWindowState).start < window
    }
    case 'sliding-log':
      return (
        cached.kernel === 'sliding-log' &&
        cached.limit === step.limit &&
        cached.window === step.window &&
        step.check === 1
      )
    case 'warm-up':
      return cached.kernel === 'warm-up' && cached.half === step.half && cached.scale === step.scale
    case 'penalty': {
      if (cached.kernel !== 'penalty') return false
      const { until } = state as PenaltyState
      // A block holds whatever the numbers of the quota are.
      return until > 0 ? now < until : cached.window === step.window && cached.forgive === step.forgive
    }
    case 'slots':
      return false
  }
}

/** Reports whether the ticks of two steps are the same. */
export function sameSchedule(
  { schedule: a, fraction }: BucketStep,
  { schedule: b, fraction: other }: BucketStep,
): boolean {
  if (fraction?.scale !== other?.scale) return false
  if (a === null || b === null) return a === b
  return a.interval === b.interval && a.amount === b.amount && a.tick === b.tick && a.offset === b.offset
}

const named = (state: StateKey): string => processState('state names', stateNamer)(state)

/** The name of a policy and key; undefined for a long one, so that long keys cannot fill the memory. */
export const shortStateName = (state: StateKey): string | undefined => (isLong(state) ? undefined : named(state))

/** A copy to keep: a slice of a header would keep the whole header in memory. */
export function detached({ policy, key }: StateKey): StateKey {
  const text = [policy, key].join(' ')
  return { policy: text.slice(0, policy.length), key: text.slice(policy.length + 1) }
}
