import type { BucketStep, BucketTaken, Micros, PreparedTake, Taken } from '@spillway/core'
import { WHOLE, wholeTick } from '@spillway/core/internal'
import type { Earlies } from './earlies.ts'
import type { PolicyStates } from './policy-states.ts'
import type { Slots } from './slots.ts'

/** A result that its prepared take overwrites. */
export type Reused<T> = { -readonly [Name in keyof T]: T[Name] }

/** The slot of a key without a state. */
export const NONE = -1
/** The slot of a state that the kernel itself takes. */
export const GENERAL = -2

/**
 * The bucket kernel on stored numbers, for a bucket that refills continuously. The kernel itself decides about a debt, refunds,
 * and a clock that has stepped back.
 */
export function bucketTake(states: PolicyStates, step: BucketStep, general: PreparedTake): PreparedTake {
  const { slots, earlies } = states
  const { increment, ceiling } = step
  const parts = step.fraction ?? WHOLE
  const { scale } = parts
  const room = step.tolerance - step.check
  const early = { scale, base: 0, tat: 0, gross: 0 }
  const taken: Reused<BucketTaken> = { allowed: false, now: 0, base: 0, tat: 0, gross: 0 }
  if (step.fraction !== null) taken.early = early
  const found = { slot: NONE, key: '' }

  const look = (key: string, now: Micros): boolean => {
    const slot = slots.find(key)
    const tat = slot < 0 ? 0 : slots.moment(slot)
    found.slot = tat < 0 || tat - now > ceiling ? GENERAL : slot
    if (found.slot === GENERAL) return general.look(key, now)
    if (slot < 0) found.key = key
    taken.now = now
    taken.base = Math.max(tat, now)
    early.base = scale === 1 || tat <= now ? 0 : earlies.get(slot)
    taken.allowed = wholeTick(taken.base - now - room, early.base + parts.check - parts.tolerance, scale) <= 0
    return taken.allowed
  }
  const commit = (allowed: boolean): Taken => {
    if (found.slot === GENERAL) return general.commit(allowed)
    taken.tat = taken.gross = taken.base
    early.tat = early.gross = early.base
    if (!allowed) return taken
    const sum = early.base + parts.increment
    early.tat = early.gross = sum < scale ? sum : sum - scale
    taken.tat = taken.gross = taken.base + increment - (sum < scale ? 0 : 1)
    const slot = found.slot < 0 ? states.insert(found.key, taken.tat - taken.now, taken.now) : found.slot
    slots.move(slot, taken.tat)
    earlies.set(slot, early.tat)
    return taken
  }
  const takeAny = (key: string, now: Micros): Taken => commit(look(key, now))
  const take = scale === 1 ? plainTake(slots, earlies, ceiling, room, increment, taken, takeAny) : takeAny
  return { look, commit, take }
}

/**
 * The most common take and state: small enough for engines to inline it, and then to allocate no numbers. Its constants are
 * arguments, because an engine checks at each use whether a constant of a closure is initialised.
 */
const plainTake =
  (
    slots: Slots,
    earlies: Earlies,
    ceiling: Micros,
    room: Micros,
    increment: Micros,
    taken: Reused<BucketTaken>,
    takeAny: PreparedTake['take'],
  ): PreparedTake['take'] =>
  (key, now) => {
    const slot = slots.find(key)
    const tat = slot < 0 ? -1 : slots.moment(slot)
    if (tat < 0 || tat - now > ceiling || earlies.scale !== 1) return takeAny(key, now)
    // biome-ignore lint/complexity/useMathMinMax: with a call, this function is too large to be inlined.
    const base = tat > now ? tat : now
    const allowed = base - now <= room
    const next = allowed ? base + increment : base
    if (allowed) slots.move(slot, next)
    taken.allowed = allowed
    taken.now = now
    taken.base = base
    taken.tat = next
    taken.gross = next
    return taken
  }
