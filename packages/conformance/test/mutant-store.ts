import type {
  FractionalBucket,
  Micros,
  SlidingWindowState,
  SlotsState,
  SlotsStep,
  State,
  StateKey,
  Step,
  Store,
  Take,
  Taken,
} from '@spillway/core'
import { type Outcome, runKernel, type SlotsOutcome, takenOf } from '@spillway/core/internal'
import { expect } from 'vitest'
import { START, testStore } from '../src/index.ts'

/** The parts of a store that a mutant can break. */
export interface Seams {
  nameOf: (key: StateKey) => string
  clock: (at: Micros | undefined) => Micros
  step: (state: State | undefined, now: Micros, step: Step) => Outcome
  takes: (outcomes: readonly Outcome[]) => boolean
  writes: (op: Take) => boolean
  keep: (state: State) => State
  pause: () => Promise<void> | undefined
  answer: (taken: Taken) => Taken
  each: (
    batches: readonly (readonly Take[])[],
    take: (ops: readonly Take[]) => Promise<readonly Taken[]>,
  ) => Promise<readonly (readonly Taken[])[]>
  forget: (states: Map<string, State>, names: readonly string[]) => number
  isOf: (name: string, policies: readonly string[]) => boolean
  clear: (states: Map<string, State>, names: readonly string[]) => number
}

const RIGHT: Seams = {
  nameOf: ({ policy, key }) => JSON.stringify([policy, key]),
  clock: (at) => at ?? START,
  step: runKernel,
  takes: (outcomes) => outcomes.every(({ allowed }) => allowed),
  writes: ({ step }) => !step.peek,
  keep: (state) => state,
  pause: () => undefined,
  answer: (taken) => taken,
  // Each batch must write before the next one reads: no promise and no other call is between them.
  each: (batches, take) => Promise.all(batches.map(take)),
  forget: (states, names) => names.filter((name) => states.delete(name)).length,
  isOf: (name, policies) => policies.includes(JSON.parse(name)[0]),
  clear: (states, names) => names.filter((name) => states.delete(name)).length,
}

export function storeWith(faults: Partial<Seams>): Store {
  const seams = { ...RIGHT, ...faults }
  const states = new Map<string, State>()
  const take: Store['take'] = async (ops, at) => {
    const now = seams.clock(at)
    const found = ops.map((op) => states.get(seams.nameOf(op)))
    const pause = seams.pause()
    if (pause) await pause
    const outcomes = ops.map((op, i) => seams.step(found[i], now, op.step))
    const takes = seams.takes(outcomes)
    return outcomes.map((outcome, i) => {
      const op = ops[i] as Take
      const state = takes ? outcome.taken : outcome.kept
      if (state !== undefined && seams.writes(op)) states.set(seams.nameOf(op), seams.keep(state))
      return seams.answer(takenOf(outcome, now, op.step, takes && !op.step.peek))
    })
  }
  return {
    take,
    async takeEach(batches, at) {
      return seams.each(batches, (ops) => take(ops, at))
    },
    async delete(keys) {
      return seams.forget(states, keys.map(seams.nameOf))
    },
    async deleteAll(policies) {
      return seams.clear(
        states,
        [...states.keys()].filter((name) => seams.isOf(name, policies)),
      )
    },
  }
}

export const shared = {} as Taken

/** Changes the kernels' arguments or results. */
export const withStep = (change: (step: Step) => Partial<Step>): Partial<Seams> => ({
  step: (state, now, step) => runKernel(state, now, { ...step, ...change(step) } as Step),
})
export const withOutcome = (
  change: (outcome: Outcome, step: Step, now: Micros) => Partial<Outcome>,
): Partial<Seams> => ({
  step: (state, now, step) => {
    const outcome = runKernel(state, now, step)
    return { ...outcome, ...change(outcome, step, now) } as Outcome
  },
})
export const numbers = (change: (state: number) => number): Partial<Seams> => ({
  keep: (state) => (typeof state === 'number' ? change(state) : state),
})

export const parts = (change: (state: FractionalBucket) => Partial<FractionalBucket>): Partial<Seams> => ({
  keep: (state) => (typeof state === 'object' && 'grossEarly' in state ? { ...state, ...change(state) } : state),
})

/** Changes a step by what is found of its key. */
export const foundOf = (change: (state: State | undefined, step: Step) => Partial<Step>): Partial<Seams> => ({
  step: (state, now, step) => runKernel(state, now, { ...step, ...change(state, step) } as Step),
})

/** What is found of a key by a step of slots. */
export const foundSlots = (
  change: (state: SlotsState, now: Micros, step: SlotsStep) => SlotsState,
): Partial<Seams> => ({
  step: (state, now, step) =>
    runKernel(step.kernel === 'slots' && isSlots(state) ? change(state, now, step) : state, now, step),
})

/** The outcome of a step of slots. */
export const ofSlots = (
  change: (outcome: SlotsOutcome, step: SlotsStep, now: Micros, state: SlotsState) => Partial<SlotsOutcome>,
): Partial<Seams> => ({
  step: (state, now, step) => {
    const outcome = runKernel(state, now, step)
    if (step.kernel !== 'slots') return outcome
    const of = outcome as SlotsOutcome
    return { ...of, ...change(of, step, now, isSlots(state) ? state : of.base) }
  },
})

export const isSlots = (state: State | undefined): state is SlotsState => typeof state === 'object' && 'slots' in state

/** The slots whose number and end a condition accepts. */
export const slotsWhere = (state: SlotsState, accepts: (id: number, end: Micros) => boolean): SlotsState => {
  const isKept = (i: number): boolean => accepts(state.slots[i] as number, state.slots[i + 1] as number)
  return { ...state, slots: state.slots.filter((_, i) => isKept(i - (i % 2))) }
}

/** The state with the ends that its slots had before, of those that were after a time. */
export const unmoved = (state: SlotsState, before: SlotsState, latest: Micros): SlotsState => {
  const endOf = (id: number): number => before.slots[before.slots.indexOf(id) + 1] as number
  const isLater = (id: number): boolean => before.slots.includes(id) && endOf(id) > latest
  return {
    ...state,
    slots: state.slots.map((each, i) => {
      const id = state.slots[i - 1]
      return i % 2 === 1 && id !== undefined && isLater(id) ? endOf(id) : each
    }),
  }
}

/** What is found of a key in the period of a calendar. */
export const inPeriod = (
  change: (state: SlidingWindowState, start: Micros, now: Micros) => State | undefined,
): Partial<Seams> => ({
  step: (state, now, step) => {
    const isWindow = typeof state === 'object' && 'start' in state
    if (!isWindow || step.kernel !== 'sliding-window' || step.calendar === null) return runKernel(state, now, step)
    const start = step.calendar.startsAround(now)[1] as Micros
    return runKernel(change(state, start, now), now, step)
  },
})

export async function expectFailure(makeStore: () => Store): Promise<void> {
  // A few histories find most mutants; some differ in few of many.
  for (const histories of [20, 100, 500, 2_000]) if (await hasFailure(makeStore, histories)) return
  expect.fail('the suite passes')
}

/** The cases that have failed, the last first: most mutants fail one of a few. */
const failing = new Set<string>()

/** Whether a case of the suite fails; the first that does ends the search. */
async function hasFailure(makeStore: () => Store, histories: number): Promise<boolean> {
  const cases = new Map<string, () => Promise<void>>()
  testStore((name, body) => cases.set(name, body), makeStore, { histories })
  for (const name of new Set([...[...failing].reverse(), ...cases.keys()])) {
    const failed = await cases
      .get(name)?.()
      .then(
        () => false,
        () => true,
      )
    if (!failed) continue
    failing.delete(name)
    failing.add(name)
    return true
  }
  return false
}

/** A store that runs the last call of a tick first, like several connections. */
export function lastFirst(store: Store): Store {
  const waiting: (() => void)[] = []
  return {
    ...store,
    async take(...asked) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        setImmediate(() => waiting.pop()?.())
      })
      return store.take(...asked)
    },
  }
}
