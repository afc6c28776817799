import type { BucketStep, BucketTaken, Micros, PreparedTake } from '@spillway/core'
import { type Found, GENERAL, NONE, type Reused } from '@spillway/core/internal'
import type { Earlies } from './earlies.ts'
import type { PolicyStates } from './policy-states.ts'
import type { Slots } from './slots.ts'

/**
 * The bucket kernel on stored numbers, for a bucket that refills continuously, each unit in whole microseconds. The kernel
 * itself decides about a debt, and a clock that has stepped back. The constants of each function are arguments, because an
 * engine checks at each use whether a constant of a closure is initialised.
 */
export function bucketTake(states: PolicyStates, step: BucketStep, general: PreparedTake): PreparedTake {
  const { slots, earlies } = states
  const { increment, ceiling } = step
  const room = step.tolerance - step.check
  const taken: Reused<BucketTaken> = { allowed: false, now: 0, base: 0, tat: 0 }
  const found: Found = { slot: NONE, key: '' }
  const look = looking(slots, ceiling, room, taken, found, general)
  const commit = committing(states, slots, earlies, increment, taken, found, general)
  const take = taking(slots, earlies, ceiling, room, increment, taken, look, commit)
  const consumer: PreparedTake['consumer'] = (clock, decide, other) => (key, cost) =>
    (cost === undefined || cost === 1) && typeof key === 'string' && key !== ''
      ? decide(take(key, clock()))
      : other(key, cost)
  return { look, commit, take, consumer }
}

const looking =
  (
    slots: Slots,
    ceiling: Micros,
    room: Micros,
    taken: Reused<BucketTaken>,
    found: Found,
    general: PreparedTake,
  ): PreparedTake['look'] =>
  (key, now) => {
    const slot = slots.find(key)
    const tat = slot < 0 ? 0 : slots.moment(slot)
    if (tat < 0 || tat - now > ceiling) {
      found.slot = GENERAL
      return general.look(key, now)
    }
    found.slot = slot
    if (slot < 0) found.key = key
    // biome-ignore lint/complexity/useMathMinMax: engines compile a comparison to less.
    const base = tat > now ? tat : now
    const allowed = base - now <= room
    taken.allowed = allowed
    taken.now = now
    taken.base = base
    return allowed
  }

const committing =
  (
    states: PolicyStates,
    slots: Slots,
    earlies: Earlies,
    increment: Micros,
    taken: Reused<BucketTaken>,
    found: Found,
    general: PreparedTake,
  ): PreparedTake['commit'] =>
  (allowed) => {
    if (found.slot === GENERAL) return general.commit(allowed)
    const { base } = taken
    const tat = allowed ? base + increment : base
    taken.tat = tat
    if (!allowed) return taken
    const slot = found.slot < 0 ? states.insert(found.key, tat - taken.now, taken.now) : found.slot
    slots.move(slot, tat)
    if (earlies.scale !== 1) earlies.set(slot, 0)
    return taken
  }

/** The most common take and state: small enough for engines to inline it, and then to allocate no numbers. */
const taking =
  (
    slots: Slots,
    earlies: Earlies,
    ceiling: Micros,
    room: Micros,
    increment: Micros,
    taken: Reused<BucketTaken>,
    look: PreparedTake['look'],
    commit: PreparedTake['commit'],
  ): PreparedTake['take'] =>
  (key, now) => {
    const slot = slots.find(key)
    const tat = slot < 0 ? -1 : slots.moment(slot)
    if (tat < 0 || tat - now > ceiling || earlies.scale !== 1) return commit(look(key, now))
    // biome-ignore lint/complexity/useMathMinMax: with a call, this function is too large to be inlined.
    const base = tat > now ? tat : now
    const allowed = base - now <= room
    const next = allowed ? base + increment : base
    if (allowed) slots.move(slot, next)
    taken.allowed = allowed
    taken.now = now
    taken.base = base
    taken.tat = next
    return taken
  }
