import { START } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import type { Verb } from '../src/algorithms/step-options.ts'
import { inFlight } from '../src/in-flight.ts'
import { divideQuota, type SlotsQuota, type SlotsState, type SlotsTaken, type State } from '../src/index.ts'
import { emptyAt, runKernel, stepFor, takenOf } from '../src/internal.ts'

const second = 1_000_000

/** One key, by the kernel: asks at a time in microseconds after START. Numbers and ends are in microseconds after START, too. */
function keyOf(quota: SlotsQuota) {
  let state: State | undefined
  return (verb: Verb, cost: number, at: number, id = 0, asked = quota) => {
    const step = stepFor(asked, verb, cost, id === 0 ? {} : { original: { id } as SlotsTaken })
    const outcome = runKernel(state, START + at, step)
    if (verb !== 'peek') state = outcome.allowed ? outcome.taken : outcome.kept
    const taken = takenOf(outcome, START + at, step, outcome.allowed && verb !== 'peek') as SlotsTaken
    const { last, slots } = (state as SlotsState | undefined) ?? { last: START, slots: [] }
    return { ...taken, last: last - START, slots: slots.map((each) => each - START), state, step }
  }
}

describe('the state of slots', () => {
  const quota = inFlight(2, { ttl: '10s' })

  test('has the number and the end of each, and the highest number so far', () => {
    const key = keyOf(quota)
    expect(key('consume', 1, 5)).toMatchObject({ allowed: true, used: 1, id: START + 5, last: 5, slots: [5, 10e6 + 5] })
    // Numbers are times, unless that of now is given.
    expect(key('consume', 1, 5)).toMatchObject({ used: 2, id: START + 6, last: 6, slots: [5, 10e6 + 5, 6, 10e6 + 5] })
    expect(key('refund', 1, 7, START + 5)).toMatchObject({ used: 1, id: START + 5, last: 6, slots: [6, 10e6 + 5] })
    expect(key('refund', 1, 7, START + 6)).toMatchObject({ used: 0, id: START + 6, last: 6, slots: [] })
    expect(key('consume', 2, 9)).toMatchObject({ used: 2, id: START + 9, last: 10, slots: [9, 10e6 + 9, 10, 10e6 + 9] })
  })

  test('is left as it is by denials, peeks, and slots that are lost', () => {
    const key = keyOf(quota)
    const { id, state } = key('consume', 2, 0)
    expect(key('consume', 1, 1)).toMatchObject({ allowed: false, id: 0, state })
    expect(key('peek', 1, 1)).toMatchObject({ allowed: false, id: 0, used: 2, state })
    expect(key('refund', 1, 1, id + 2)).toMatchObject({ allowed: true, id: 0, used: 2, state })
    expect(key('charge', 1, 1, id + 2)).toMatchObject({ allowed: true, id: 0, used: 2, state })
    // The very object: stores that compare it write nothing.
    expect(key('charge', 1, 1).state).toBe(state)
    expect(keyOf(quota)('refund', 1, 1)).toMatchObject({ allowed: true, id: 0, used: 0, state: undefined })
    expect(keyOf(quota)('charge', 1, 1, id)).toMatchObject({ allowed: true, id: 0, used: 0, state: undefined })
  })

  test('is that of a new key from its last end on, and its numbers are not given before', () => {
    const key = keyOf(quota)
    const { id } = key('consume', 1, 0)
    const renewed = key('charge', 1, second, id)
    expect(emptyAt(renewed.state as State, renewed.step)).toBe(START + 11 * second)
    const released = key('refund', 1, second, id)
    expect(emptyAt(released.state as State, released.step)).toBe(START)
    // A process that was killed while it acquired many: their numbers are ahead of the time.
    const many = keyOf(inFlight(10_000, { ttl: '1ms' }))('consume', 10_000, 0)
    expect(emptyAt(many.state as State, many.step)).toBe(START + 9_999)
  })

  test('is as good as none to other algorithms, and they to it, but for the slots in use', () => {
    const { state } = keyOf(quota)('consume', 1, 0)
    expect(emptyAt([START, 1], stepFor(quota, 'consume', 1))).toBe(0)
    expect(runKernel([START, 2], START, stepFor(quota, 'consume', 2)).allowed).toBe(true)
    expect(emptyAt(state as State, stepFor(quota, 'consume', 1))).toBe(START + 10 * second)
  })
})

describe('the slots of a holder', () => {
  const quota = inFlight(1, { ttl: '10s' })

  test('are renewed after they have expired, until another holder has them', () => {
    const key = keyOf(quota)
    const { id } = key('consume', 1, 0)
    expect(key('peek', 1, 10 * second)).toMatchObject({ allowed: true, used: 0 })
    expect(key('charge', 1, 15 * second, id)).toMatchObject({ id, used: 1 })
    expect(key('consume', 1, 25 * second - 1)).toMatchObject({ allowed: false, used: 1 })
    const other = key('consume', 1, 25 * second)
    expect(other).toMatchObject({ allowed: true, used: 1 })
    expect(key('charge', 1, 25 * second, id)).toMatchObject({ id: 0, used: 1, slots: [other.id - START, 35e6] })
    expect(key('refund', 1, 25 * second, id)).toMatchObject({ id: 0, used: 1 })
  })

  // Reproduces a bug: they ended by the shorter ttl, before their holder renewed them.
  test('end as they were acquired if a quota has a shorter ttl, and later by a longer one when they are renewed', () => {
    const key = keyOf(quota)
    const { id } = key('consume', 1, 0)
    const shorter = inFlight(1, { ttl: '2s' })
    expect(key('consume', 1, 0, 0, shorter)).toMatchObject({ allowed: false, slots: [0, 10e6] })
    expect(key('consume', 1, 9 * second, 0, shorter)).toMatchObject({ allowed: false, slots: [0, 10e6] })
    expect(key('charge', 1, second, id, inFlight(1, { ttl: '1m' }))).toMatchObject({ id, slots: [0, 61e6] })
  })

  test('are held for the longest ttl among them at most where the clock has stepped back', () => {
    const two = inFlight(2, { ttl: '10s' })
    const shorter = inFlight(2, { ttl: '2s' })
    const key = keyOf(two)
    const { id } = key('consume', 1, 0)
    expect(key('consume', 1, 0, 0, shorter)).toMatchObject({ slots: [0, 10e6, 1, 2e6] })
    expect(key('peek', 1, 0, 0, shorter).used).toBe(2)
    expect(key('consume', 1, -second, 0, shorter)).toMatchObject({ allowed: false, slots: [0, 9e6, 1, 2e6] })
    key('refund', 1, 0, id, two)
    // Only one of the shorter ttl is left, until the next is acquired beside none.
    key('refund', 1, 0, id + 1, shorter)
    const { slots } = key('consume', 1, 0, 0, shorter)
    expect(key('consume', 2, -second, 0, shorter)).toMatchObject({ allowed: false, slots: [slots[0], second] })
  })

  test('stay in use by a lower limit, which denies until enough are released', () => {
    const key = keyOf(inFlight(3))
    const ids = [key('consume', 1, 0).id, key('consume', 1, 0).id, key('consume', 1, 0).id]
    const lower = (at: number) => key('consume', 1, at, 0, quota)
    expect(lower(1)).toMatchObject({ allowed: false, used: 3 })
    expect(key('charge', 1, 1, ids[0], quota)).toMatchObject({ id: ids[0], used: 3 })
    expect(ids.slice(1).map((id) => key('refund', 1, 2, id, quota).used)).toEqual([2, 1])
    expect(lower(3).allowed).toBe(false)
    key('refund', 1, 4, ids[0], quota)
    expect(lower(5).allowed).toBe(true)
  })
})

interface Act {
  readonly after: number
  readonly does: string
  readonly cost: number
  readonly which: number
}

/** The rule as it is documented: a list of who holds how many until when. */
function written(limit: number, ttl: number) {
  let held: { readonly of: number; readonly end: number }[] = []
  const inUse = (at: number): number => held.filter(({ end }) => end > at).length
  return {
    inUse,
    acquire(of: number, cost: number, at: number): boolean {
      if (inUse(at) + cost > limit) return false
      held = [...held.filter(({ end }) => end > at), ...Array.from({ length: cost }, () => ({ of, end: at + ttl }))]
      return true
    },
    renew(of: number, at: number): boolean {
      held = held.map((each) => (each.of === of ? { of, end: at + ttl } : each))
      return held.some((each) => each.of === of)
    },
    release(of: number): boolean {
      const before = held.length
      held = held.filter((each) => each.of !== of)
      return held.length < before
    },
  }
}

test('slots are acquired, renewed, released and lost as by a list of holders', () => {
  const acts = fc.array(
    fc.record({
      after: fc.oneof(fc.nat(3_000), fc.constantFrom(0, 1, 4_999, 5_000)),
      does: fc.constantFrom('acquire', 'acquire', 'renew', 'release'),
      cost: fc.integer({ min: 1, max: 3 }),
      which: fc.nat(20),
    }),
    { minLength: 1, maxLength: 40 },
  )
  const compare = (limit: number, calls: readonly Act[]): void => {
    const [key, model] = [keyOf(inFlight(limit, { ttl: 5 })), written(limit, 5_000)]
    const holders: { readonly id: number; readonly cost: number }[] = []
    const acquire = (cost: number, at: number): void => {
      const { allowed, id } = key('consume', cost, at)
      expect(allowed).toBe(model.acquire(holders.length, cost, at))
      if (allowed) holders.push({ id, cost })
    }
    const correct = (does: string, of: number, at: number): void => {
      const { id, cost } = holders[of] as (typeof holders)[number]
      const taken = key(does === 'renew' ? 'charge' : 'refund', cost, at, id)
      expect(taken.id > 0).toBe(does === 'renew' ? model.renew(of, at) : model.release(of))
      expect(taken.used).toBe(model.inUse(at))
    }
    let at = 0
    for (const { after, does, cost, which } of calls) {
      at += after
      if (does === 'acquire' || holders.length === 0) acquire(cost, at)
      else correct(does, which % holders.length, at)
    }
  }
  const property = fc.property(fc.integer({ min: 1, max: 5 }), acts, compare)
  fc.assert(property, { numRuns: runsOf(750) })
})

test('slots are divided among processes', () => {
  const shares = [4, 20].map((replicas) => divideQuota(inFlight(10), { replicas }))
  expect(shares).toEqual([2, 1].map((limit) => ({ kernel: 'slots', limit, window: 30 * second })))
})
