import type {
  FractionalBucket,
  Micros,
  PreparedTake,
  SlidingWindowState,
  State,
  StateKey,
  Step,
  Store,
  SyncStore,
  Take,
  Taken,
} from '@spillway/core'
import {
  type BucketOutcome,
  type Outcome,
  type PenaltyOutcome,
  receivedStep,
  runKernel,
  sentStep,
  takenOf,
} from '@spillway/core/internal'

import { describe, expect, test } from 'vitest'
import { fakeClock, modelStore, START, testStore } from '../src/index.ts'

/** The parts of a store that a mutant can break. */
interface Seams {
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

function storeWith(faults: Partial<Seams>): Store {
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

const shared = {} as Taken

/** Changes the kernels' arguments or results. */
const withStep = (change: (step: Step) => Partial<Step>): Partial<Seams> => ({
  step: (state, now, step) => runKernel(state, now, { ...step, ...change(step) } as Step),
})
const withOutcome = (change: (outcome: Outcome, step: Step, now: Micros) => Partial<Outcome>): Partial<Seams> => ({
  step: (state, now, step) => {
    const outcome = runKernel(state, now, step)
    return { ...outcome, ...change(outcome, step, now) } as Outcome
  },
})
const numbers = (change: (state: number) => number): Partial<Seams> => ({
  keep: (state) => (typeof state === 'number' ? change(state) : state),
})

const parts = (change: (state: FractionalBucket) => Partial<FractionalBucket>): Partial<Seams> => ({
  keep: (state) => (typeof state === 'object' && 'grossEarly' in state ? { ...state, ...change(state) } : state),
})

/** What is found of a key in the period of a calendar. */
const inPeriod = (
  change: (state: SlidingWindowState, start: Micros, now: Micros) => State | undefined,
): Partial<Seams> => ({
  step: (state, now, step) => {
    const isWindow = typeof state === 'object' && 'start' in state
    if (!isWindow || step.kernel !== 'sliding-window' || step.calendar === null) return runKernel(state, now, step)
    const start = step.calendar.startsAround(now)[1] as Micros
    return runKernel(change(state, start, now), now, step)
  },
})

const mutants: Record<string, Partial<Seams>> = {
  'denies what just fits': withStep((step) => ({ check: step.check + 1 })),
  'admits what just does not fit': withStep((step) => ({ check: step.check - 1 })),
  'ignores the cost': withStep((step) => ({ increment: Math.sign(step.increment) })),
  'ignores the cost of refunds': withStep((step) => ({ increment: Math.max(step.increment, -1) })),
  'does not wait': withStep((step) => (step.kernel === 'bucket' ? { maxWaitMicros: 0 } : {})),
  'refunds units that have already refilled': withStep((step) =>
    step.kernel === 'bucket' ? { until: Number.MAX_SAFE_INTEGER } : { since: 0 },
  ),
  'counts a unit in whole microseconds': withStep((step) => (step.kernel === 'bucket' ? { fraction: null } : {})),
  'forgets parts of a microsecond': parts(() => ({ early: 0, grossEarly: 0 })),
  'refills a part of a microsecond too early': parts(({ tat, early }) => ({
    tat: early > 0 ? tat - 1 : tat,
    early: 0,
  })),
  'forgets which part of a microsecond a take ends at': parts(() => ({ grossEarly: 0 })),
  'reads parts of a microsecond in any scale': {
    step: (state, now, step) =>
      runKernel(
        typeof state === 'object' && 'scale' in state && step.kernel === 'bucket' && step.fraction !== null
          ? { ...state, scale: step.fraction.scale }
          : state,
        now,
        step,
      ),
  },
  'takes half a batch': { takes: (outcomes) => outcomes.some(({ allowed }) => allowed) },
  'charges for denials': withOutcome((outcome) => ({ kept: outcome.taken }) as Partial<Outcome>),
  'writes for peeks': { writes: () => true },
  'loses the sign of a debt': numbers(Math.abs),
  'rounds to milliseconds': numbers((state) => Math.round(state / 1_000) * 1_000),
  'keeps fourteen digits, as tostring does in Lua': numbers((state) => Number(state.toPrecision(14))),
  'keeps nothing beyond ten seconds': numbers((state) => Math.min(state, START + 10_000_000)),
  'never brings a bucket back from the future': withStep((step) =>
    step.kernel === 'bucket' ? { ceiling: Number.MAX_SAFE_INTEGER } : {},
  ),
  'never brings a window back from the future': {
    keep: (state) =>
      typeof state === 'object' && 'start' in state ? { ...state, start: Math.max(state.start, START) } : state,
  },
  'is warm from the first request on': {
    keep: (state) => (typeof state === 'object' && 'cold' in state ? { ...state, cold: 0 } : state),
  },
  'does not get cold while idle': {
    step: (state, now, step) =>
      runKernel(
        typeof state === 'object' && 'cold' in state && now > state.writtenAt + state.ahead
          ? { ...state, writtenAt: now, ahead: 0, early: 0 }
          : state,
        now,
        step,
      ),
  },
  'refunds an earlier take of a key that warms up': withStep((step) =>
    step.kernel === 'warm-up' ? { until: Number.MAX_SAFE_INTEGER } : {},
  ),
  'keeps no part of a microsecond of a key that warms up': {
    keep: (state) => (typeof state === 'object' && 'cold' in state ? { ...state, early: 0 } : state),
  },
  'makes each block as long as the first': withStep((step) => (step.kernel === 'penalty' ? { max: step.block } : {})),
  'never forgives a block': withStep((step) => (step.kernel === 'penalty' ? { forgive: 3e15 } : {})),
  'forgives each block at once': withStep((step) => (step.kernel === 'penalty' ? { forgive: 0 } : {})),
  'lifts a block by the refund of another window': withStep((step) => (step.kernel === 'penalty' ? { since: 0 } : {})),
  'starts no block again': withStep((step) => (step.kernel === 'penalty' ? { extend: false } : {})),
  'never brings a block back from the future': {
    keep: (state) => (typeof state === 'object' && 'level' in state ? { ...state, writtenAt: 0 } : state),
  },
  'keeps a block whose units are refunded': withOutcome((outcome, step) =>
    step.kernel === 'penalty' && step.increment < 0 && outcome.taken !== undefined
      ? { taken: { ...(outcome as PenaltyOutcome).next, until: (outcome as PenaltyOutcome).base.until } }
      : {},
  ),
  'counts units of a window that is over': withStep((step) => (step.kernel === 'penalty' ? { window: 3e15 } : {})),
  'does not write what it has brought back': withOutcome(() => ({ kept: undefined })),
  'drops a state of the future': {
    step: (state, now, step) =>
      runKernel(
        typeof state === 'number' && step.kernel === 'bucket' && state - now > step.ceiling ? undefined : state,
        now,
        step,
      ),
  },
  'lets refunds lift above full': withOutcome((outcome, step) =>
    step.kernel === 'bucket' && step.increment < 0 ? { taken: (outcome as BucketOutcome).base + step.increment } : {},
  ),
  'tells time by its own clock only': { clock: () => START },
  'reads, waits, then writes': { pause: () => Promise.resolve() },
  'returns one object to all callers': { answer: (taken) => Object.assign(shared, taken) },
  'concatenates policy and key': { nameOf: ({ policy, key }) => `${policy}:${key}` },
  'leaves the policy out of the name': { nameOf: ({ key }) => key },
  'cuts long keys': { nameOf: ({ policy, key }) => JSON.stringify([policy, key.slice(0, 255)]) },
  'stores keys as UTF-8': { nameOf: ({ policy, key }) => `${policy}\n${Buffer.from(key).toString()}` },
  'ends a key at a zero byte': { nameOf: ({ policy, key }) => JSON.stringify([policy, key.split('\u0000')[0]]) },
  'normalises keys': { nameOf: ({ policy, key }) => JSON.stringify([policy, key.normalize()]) },
  'resets by pattern': {
    forget: (states, names) => {
      const before = states.size
      for (const name of names) name.includes('*') ? states.clear() : states.delete(name)
      return before - states.size
    },
  },
  'never deletes': { forget: (states, names) => names.filter((name) => states.has(name)).length },
  'counts the requested deletions': {
    forget: (states, names) => {
      for (const name of names) states.delete(name)
      return names.length
    },
  },
  'deletes one state at most': {
    forget: (states, names) => Number(names.some((name) => states.delete(name))),
  },
  'takes the first of several batches alone': {
    each: async (batches, take) => {
      const taken = await take(batches[0] as readonly Take[])
      return batches.map(() => taken)
    },
  },
  'takes several batches from last to first': {
    each: async (batches, take) => (await Promise.all(batches.toReversed().map(take))).toReversed(),
  },
  'allows other calls between several batches': {
    each: async (batches, take) => {
      const answers: (readonly Taken[])[] = []
      for (const ops of batches) answers.push(await take(ops))
      return answers
    },
  },
  'deletes all policies': { isOf: () => true },
  'deletes all policies whose names begin alike': {
    isOf: (name, policies) => policies.some((policy) => JSON.parse(name)[0].startsWith(policy)),
  },
  'deletes all of the first policy alone': { isOf: (name, [policy]) => JSON.parse(name)[0] === policy },
  'deletes all states but long ones': {
    isOf: (name, policies) => name.length < 500 && policies.includes(JSON.parse(name)[0]),
  },
  'keeps what it counts as deleted': { clear: (_, names) => names.length },
  'computes in floating point': numbers((state) => Math.floor(state * 1.000000000001)),
  'loses the previous window': {
    keep: (state) => (typeof state === 'object' && 'start' in state ? { ...state, previous: 0 } : state),
  },
  'starts every key full': withStep((step) => (step.kernel === 'bucket' ? { start: null } : {})),
  'counts a bucket as new as soon as it is full': withStep((step) =>
    step.kernel === 'bucket' && step.start !== null ? { start: { ...step.start, keep: 0 } } : {},
  ),
  'never counts a bucket as new again': withStep((step) =>
    step.kernel === 'bucket' && step.start !== null ? { start: { ...step.start, keep: 1e15 } } : {},
  ),
  'lets a window that ends all at once fade out': withStep((step) =>
    step.kernel === 'sliding-window' ? { fixed: false } : {},
  ),
  'ends a window that fades out all at once': withStep((step) =>
    step.kernel === 'sliding-window' ? { fixed: true } : {},
  ),
  'ends a period of a calendar after its usual length': withStep((step) =>
    step.kernel === 'sliding-window' ? { calendar: null } : {},
  ),
  'begins a period of a calendar a microsecond late': withStep((step) => {
    const sent = sentStep(step, START)
    return sent.kernel === 'sliding-window' && sent.calendar !== null
      ? receivedStep({ ...sent, calendar: sent.calendar.map((start) => start + 1) })
      : {}
  }),
  'begins a period again that another calendar has begun': inPeriod((state, start) =>
    state.start === start ? state : undefined,
  ),
  'begins a period again when the clock steps back': inPeriod((state, _, now) =>
    state.start > now ? undefined : state,
  ),
  'counts units of the next period in this one when the clock steps back': inPeriod((state, start, now) =>
    state.start > now ? { ...state, start } : state,
  ),
  'never ends a period': inPeriod((state, start) => ({ ...state, start })),
  'keeps only the newest entry of a log': { keep: (state) => (Array.isArray(state) ? state.slice(-2) : state) },
}

async function expectFailure(makeStore: () => Store): Promise<void> {
  // A few histories find most mutants; some differ in few of many.
  expect((await hasFailure(makeStore, 20)) || (await hasFailure(makeStore, 2_000))).toBe(true)
}

/** Whether a case of the suite fails; the first that does ends the search. */
async function hasFailure(makeStore: () => Store, histories: number): Promise<boolean> {
  const cases: (() => Promise<void>)[] = []
  testStore((_, body) => cases.push(body), makeStore, { histories })
  for (const body of cases) {
    const failed = await body().then(
      () => false,
      () => true,
    )
    if (failed) return true
  }
  return false
}

describe('the store suite passes the model', () => testStore(test, () => modelStore(() => START)))

describe('the store suite passes a store without a fault', () => testStore(test, () => storeWith({})))

/** A store that runs the last call of a tick first, like several connections. */
function lastFirst(store: Store): Store {
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

describe('the store suite passes a store over several connections, if reported', () =>
  testStore(test, () => lastFirst(storeWith({})), { ordered: false, histories: 20 }))

describe('the store suite fails a store that', () => {
  test.each(Object.entries(mutants))('%s', (_, faults) => expectFailure(() => storeWith(faults)))
  test('runs the last call of a tick first', () => expectFailure(() => lastFirst(storeWith({}))))
})

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

test('the fake clock moves only on advance', () => {
  const clock = fakeClock()
  expect([clock(), clock()]).toEqual([START, START])
  clock.advance(0.5)
  expect(clock()).toBe(START + 500)
  clock.advance(-1)
  expect(clock()).toBe(START - 500)
})
