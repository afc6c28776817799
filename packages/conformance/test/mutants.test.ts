import type { Take, Taken } from '@spillway/core'
import {
  type BucketOutcome,
  type Outcome,
  type PenaltyOutcome,
  receivedStep,
  runKernel,
  sentStep,
} from '@spillway/core/internal'
import { describe, test } from 'vitest'
import { modelStore, START, testStore } from '../src/index.ts'
import {
  expectFailure,
  foundOf,
  foundSlots,
  inPeriod,
  isSlots,
  lastFirst,
  numbers,
  ofSlots,
  parts,
  type Seams,
  shared,
  slotsWhere,
  storeWith,
  unmoved,
  withOutcome,
  withStep,
} from './mutant-store.ts'

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
  'gives the number of a released slot again': {
    keep: (state) => (isSlots(state) ? { ...state, last: state.slots.at(-2) ?? 0 } : state),
  },
  'cuts slots by a shorter ttl': { keep: (state) => (isSlots(state) ? { ...state, ttl: 0 } : state) },
  'holds slots for the ttl of others that are gone': ofSlots(({ base, taken }) =>
    taken === undefined ? {} : { taken: { ...taken, ttl: Math.max(base.ttl, taken.ttl) } },
  ),
  'releases the latest slots instead of those of the number': withStep((step) =>
    step.kernel === 'slots' && step.increment < 0 ? { id: 0 } : {},
  ),
  'releases the oldest slots without a number': foundOf((state, step) =>
    step.kernel === 'slots' && step.increment < 0 && step.id === 0 && isSlots(state) ? { id: state.slots[0] ?? 0 } : {},
  ),
  'renews slots that were cleared away': ofSlots(({ id, base }, step, now) =>
    step.id > 0 && step.increment > 0 && id === 0
      ? { id: step.id, taken: { ...base, slots: [step.id, now + step.ttl, ...base.slots] } }
      : {},
  ),
  'renews no slot that has expired': foundSlots((state, now, { id }) =>
    id > 0 ? slotsWhere(state, (_, end) => end > now) : state,
  ),
  'renews the first of several slots': withStep((step) =>
    step.kernel === 'slots' && step.id > 0 && step.increment > 0 ? { increment: 1 } : {},
  ),
  'acquires new slots instead of renewing': withStep((step) =>
    step.kernel === 'slots' && step.increment > 0 ? { id: 0 } : {},
  ),
  'holds slots a microsecond longer': withStep((step) => (step.kernel === 'slots' ? { ttl: step.ttl + 1 } : {})),
  'holds slots a microsecond less': withStep((step) => (step.kernel === 'slots' ? { ttl: step.ttl - 1 } : {})),
  'counts slots that have expired': ofSlots(({ base }, { check, limit }) => ({
    allowed: base.slots.length / 2 + check <= limit,
  })),
  'clears no expired slot away': ofSlots(({ base, taken, next }, { id, increment }, now) => {
    if (id > 0 || increment < 0 || taken !== next) return {}
    return { taken: { ...next, slots: [...slotsWhere(base, (_, end) => end <= now).slots, ...next.slots] } }
  }),
  'clears expired slots away at a denial': ofSlots(({ kept }, _, now) =>
    kept === undefined ? {} : { kept: slotsWhere(kept, (_, end) => end > now) },
  ),
  'holds a slot of the future until its end': ofSlots(({ taken, kept }, { ttl }, now, found) => ({
    taken: taken && unmoved(taken, found, now + ttl),
    kept: kept && unmoved(kept, found, now + ttl),
  })),
  'charges slots beyond the limit': withStep((step) =>
    step.kernel === 'slots' && step.id === 0 && step.check < 0 ? { limit: 1e4 } : {},
  ),
  'takes units of another kernel for slots': {
    step: (state, now, step) =>
      runKernel(
        step.kernel === 'slots' && state !== undefined && !isSlots(state)
          ? { last: now, ttl: step.ttl, slots: [now, now + step.ttl] }
          : state,
        now,
        step,
      ),
  },
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
  'ignores the case of keys': { nameOf: ({ policy, key }) => JSON.stringify([policy, key.toLowerCase()]) },
  'ignores the case of policies': { nameOf: ({ policy, key }) => JSON.stringify([policy.toLowerCase(), key]) },
  'ignores accents and case, as a collation does': {
    nameOf: ({ policy, key }) => JSON.stringify([policy, key.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()]),
  },
  'stores digits as a number': {
    nameOf: ({ policy, key }) => JSON.stringify([policy, /^[0-9.]+$/.test(key) ? Number(key) : key]),
  },
  'stores whole numbers in floating point': {
    nameOf: ({ policy, key }) => JSON.stringify([policy, /^[1-9][0-9]*$/.test(key) ? Number(key) : key]),
  },
  'drops leading zeros': { nameOf: ({ policy, key }) => JSON.stringify([policy, key.replace(/^0+(?=.)/, '')]) },
  'keeps both ends of long keys': {
    nameOf: ({ policy, key }) => JSON.stringify([policy, key.slice(0, 100) + key.slice(-100)]),
  },
  'cuts keys of 20,000 characters': { nameOf: ({ policy, key }) => JSON.stringify([policy, key.slice(0, 20_000)]) },
  'cuts keys of 65,535 bytes': { nameOf: ({ policy, key }) => JSON.stringify([policy, key.slice(0, 65_535)]) },
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
  'starts a window of the clock with a request': withStep((step) =>
    step.kernel === 'sliding-window' ? { offset: null } : {},
  ),
  'ignores the offset of a window of the clock': withStep((step) =>
    step.kernel === 'sliding-window' && step.offset !== null ? { offset: 0 } : {},
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

describe('the store suite passes the model', () => testStore(test, () => modelStore(() => START)))

describe('the store suite passes a store without a fault', () => testStore(test, () => storeWith({})))

describe('the store suite passes a store over several connections, if reported', () =>
  testStore(test, () => lastFirst(storeWith({})), { ordered: false, histories: 20 }))

describe('the store suite fails a store that', () => {
  test.each(Object.entries(mutants))('%s', (_, faults) => expectFailure(() => storeWith(faults)))
  test('runs the last call of a tick first', () => expectFailure(() => lastFirst(storeWith({}))))
})
