import type { Micros, PreparedTake, State, StateKey, Step, SyncStore, Take, Taken } from '@spillway/core'
import { type Outcome, runKernel, takenOf } from '@spillway/core/internal'
import { describe, test } from 'vitest'
import { START, testStore } from '../src/index.ts'
import { expectFailure } from './mutant-store.ts'

type Preparing = SyncStore & Required<Pick<SyncStore, 'prepareSync' | 'clock'>>

/** The parts of a prepared take that a mutant can break. */
interface TakeSeams {
  policy: (policy: string) => string
  step: (step: Step) => Step
  look: (state: State | undefined) => State | undefined
  fits: (allowed: boolean) => boolean
  writes: (allowed: boolean, step: Step) => boolean
  now: (at: Micros) => Micros
  answer: (taken: Taken) => Taken
}

const RIGHT_TAKE: TakeSeams = {
  policy: (policy) => policy,
  step: (step) => step,
  look: (state) => state,
  fits: (allowed) => allowed,
  writes: (_, step) => !step.peek,
  now: (at) => at,
  answer: (taken) => taken,
}

/** A correct store that prepares takes, some parts of which are broken. */
function preparingWith(faults: Partial<TakeSeams>, change: Partial<Preparing> = {}): Preparing {
  const seams = { ...RIGHT_TAKE, ...faults }
  const states = new Map<string, State>()
  const prepare = (policy: string, given: Step, seams: TakeSeams): PreparedTake => {
    const step = seams.step(given)
    let [name, now, found, outcome]: [string, Micros, State | undefined, Outcome | undefined] = [
      '',
      0,
      undefined,
      undefined,
    ]
    const look = (key: string, at: Micros): boolean => {
      name = JSON.stringify([seams.policy(policy), key])
      now = seams.now(at)
      found = seams.look(states.get(name))
      outcome = runKernel(found, now, step)
      return seams.fits(outcome.allowed)
    }
    const commit = (allowed: boolean): Taken => {
      const known = outcome as Outcome
      const state = allowed ? known.taken : known.kept
      if (state !== undefined && seams.writes(allowed, step)) states.set(name, state)
      return seams.answer(takenOf(known, now, step, allowed && !step.peek))
    }
    return { look, commit, take: (key, at) => commit(look(key, at)) }
  }
  const takeSync = (ops: readonly Take[], at: Micros = START): readonly Taken[] => {
    const takes = ops.map(({ policy, step }) => prepare(policy, step, RIGHT_TAKE))
    const fits = takes.map((take, i) => take.look((ops[i] as Take).key, at))
    return takes.map((take) => take.commit(fits.every((each) => each)))
  }
  const deleteSync = (keys: readonly StateKey[]): number =>
    keys.filter(({ policy, key }) => states.delete(JSON.stringify([policy, key]))).length
  return {
    takeSync,
    deleteSync,
    take: async (ops, at) => takeSync(ops, at),
    delete: async (keys) => deleteSync(keys),
    prepareSync: (policy, step) => prepare(policy, step, seams),
    clock: () => START,
    ...change,
  }
}

const changed = (change: (step: Step) => Partial<Step>): Partial<TakeSeams> => ({
  step: (step) => ({ ...step, ...change(step) }) as Step,
})

const takeMutants: Record<string, Partial<TakeSeams>> = {
  'takes a step that does not fit': changed((step) => ({ check: step.check - 1 })),
  'takes a step whatever it finds': { fits: () => true },
  'writes nothing': { writes: () => false },
  'writes for peeks': { writes: () => true },
  'does not write what it has brought back': { writes: (allowed, step) => allowed && !step.peek },
  'never goes back with the clock': { now: (at) => Math.max(at, START) },
  'prepares a step for one policy only': { policy: () => 'p' },
  'ignores the cost': changed((step) => ({ increment: Math.sign(step.increment) })),
  'ignores clock steps': changed((step) => (step.kernel === 'bucket' ? { ceiling: Number.MAX_SAFE_INTEGER } : {})),
  'forgets parts of a microsecond': changed((step) => (step.kernel === 'bucket' ? { fraction: null } : {})),
  'does not wait': changed((step) => (step.kernel === 'bucket' ? { maxWaitMicros: 0 } : {})),
  'starts every key full': changed((step) => (step.kernel === 'bucket' ? { start: null } : {})),
  'ends a window that fades out all at once': changed((step) =>
    step.kernel === 'sliding-window' ? { fixed: true } : {},
  ),
  'starts a window of the clock with a request': changed((step) =>
    step.kernel === 'sliding-window' ? { offset: null } : {},
  ),
  'ends a period of a calendar after its usual length': changed((step) =>
    step.kernel === 'sliding-window' ? { calendar: null } : {},
  ),
  'lets a fixed window fade out': changed((step) => (step.kernel === 'sliding-window' ? { fixed: false } : {})),
  'reads a state of another kernel as none of its own': {
    look: (state) => (typeof state === 'number' ? { tat: state, gross: Math.abs(state) + 1, turn: 0 } : state),
  },
  'drops the expired entries of a log when it looks': {
    look: (state) => (Array.isArray(state) ? state.slice(-4) : state),
  },
  'reports the bucket before a take': {
    answer: (taken) => ('base' in taken ? { ...taken, tat: taken.base } : taken),
  },
  'reports when units fit the log after the step': {
    answer: (taken) => ('freesAt' in taken ? { ...taken, fitsAt: taken.freesAt } : taken),
  },
}

describe('the store suite passes a store that prepares takes', () => testStore(test, () => preparingWith({})))

describe('the store suite fails a store whose prepared take', () => {
  test.each(Object.entries(takeMutants))('%s', (_, faults) => expectFailure(() => preparingWith(faults)))
  test('is of a store that reports another time than that of its steps', () =>
    expectFailure(() => preparingWith({}, { clock: () => START + 1 })))
})
