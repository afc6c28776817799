import type { BucketStep, BucketTaken, Micros, PreparedTake } from '@spillway/core'
import { type Found, GENERAL, NONE, type Reused, wholeTick } from '@spillway/core/internal'
import type { Earlies } from './earlies.ts'
import type { PolicyStates } from './policy-states.ts'
import type { Slots } from './slots.ts'

type Parts = Pick<NonNullable<BucketStep['fraction']>, 'scale' | 'increment' | 'check' | 'tolerance'>

/** The parts of a bucket whose units take whole microseconds. */
const WHOLE: Parts = { scale: 1, increment: 0, check: 0, tolerance: 0 }

/**
 * The bucket kernel on stored numbers, for a bucket that refills continuously. The kernel itself decides about a debt, and a clock
 * that has stepped back. The constants of each function are arguments, because an engine checks at each use whether a constant of a
 * closure is initialised.
 */
export function bucketTake(states: PolicyStates, step: BucketStep, general: PreparedTake): PreparedTake {
  const { slots, earlies } = states
  const { increment, ceiling, fraction } = step
  const parts = fraction ?? WHOLE
  const room = step.tolerance - step.check
  const early = { scale: parts.scale, base: 0, tat: 0 }
  const taken: Taken = { allowed: false, now: 0, base: 0, tat: 0, ...(fraction && { early }) }
  const found: Found = { slot: NONE, key: '' }
  const look = looking(slots, earlies, ceiling, room, parts, taken, early, found, general)
  const commit = committing(states, slots, earlies, increment, parts, taken, early, found, general)
  const take = fraction
    ? (key: string, now: Micros) => commit(look(key, now))
    : taking(slots, earlies, ceiling, room, increment, taken, look, commit)
  const consumer: PreparedTake['consumer'] = (clock, decide, other) => (key, cost) =>
    (cost === undefined || cost === 1) && typeof key === 'string' && key !== ''
      ? decide(take(key, clock()))
      : other(key, cost)
  return { look, commit, take, consumer }
}

type Taken = Reused<BucketTaken>
type Early = NonNullable<Taken['early']>

const looking =
  (
    slots: Slots,
    earlies: Earlies,
    ceiling: Micros,
    room: Micros,
    { scale, check, tolerance }: Parts,
    taken: Taken,
    early: Reused<Early>,
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
    let allowed = base - now <= room
    if (scale !== 1) {
      early.base = tat > now ? earlies.get(slot) : 0
      allowed = wholeTick(base - now - room, early.base + check - tolerance, scale) <= 0
    }
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
    { scale, increment: parts }: Parts,
    taken: Taken,
    early: Reused<Early>,
    found: Found,
    general: PreparedTake,
  ): PreparedTake['commit'] =>
  (allowed) => {
    if (found.slot === GENERAL) return general.commit(allowed)
    let tat = allowed ? taken.base + increment : taken.base
    if (scale !== 1) tat -= carryOf(early, allowed ? parts : 0, scale)
    taken.tat = tat
    if (!allowed) return taken
    const slot = found.slot < 0 ? states.insert(found.key, tat - taken.now, taken.now) : found.slot
    slots.move(slot, tat)
    if (earlies.scale !== 1) earlies.set(slot, early.tat)
    return taken
  }

/** Writes by how many parts of a microsecond a bucket is full earlier, after it gave some; the microseconds that they fill. */
function carryOf(early: Reused<Early>, parts: number, scale: number): number {
  const sum = early.base + parts
  const carry = sum < scale ? 0 : 1
  early.tat = sum - carry * scale
  return carry
}

/** The most common take and state: small enough for engines to inline it, and then to allocate no numbers. */
const taking =
  (
    slots: Slots,
    earlies: Earlies,
    ceiling: Micros,
    room: Micros,
    increment: Micros,
    taken: Taken,
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
