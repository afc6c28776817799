import type { BucketStep, BucketTaken, Micros, PreparedTake, Taken } from '@spillway/core'
import { WHOLE, wholeTick } from '@spillway/core/internal'
import type { PolicyStates } from './policy-states.ts'

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
  // `slot` is set for a plain state only, and `anySlot` for any other.
  const found = { slot: NONE, anySlot: NONE, key: '' }

  // Any state, and parts of a microsecond. `tat` is -1 for a key without a state.
  const lookAt = (slot: number, tat: number, key: string, now: Micros): boolean => {
    const isOdd = slot >= 0 && (tat < 0 || tat - now > ceiling)
    found.slot = NONE
    found.anySlot = isOdd ? GENERAL : slot
    if (isOdd) return general.look(key, now)
    if (slot < 0) found.key = key
    early.base = scale !== 1 && tat > now ? earlies.get(slot) : 0
    taken.now = now
    taken.base = Math.max(tat, now)
    taken.allowed = wholeTick(taken.base - now - room, early.base + parts.check - parts.tolerance, scale) <= 0
    return taken.allowed
  }
  const commitAt = (allowed: boolean): Taken => {
    if (found.anySlot === GENERAL) return general.commit(allowed)
    const sum = allowed ? early.base + parts.increment : early.base
    early.tat = early.gross = sum < scale ? sum : sum - scale
    taken.tat = taken.gross = taken.base + (allowed ? increment : 0) - (sum < scale ? 0 : 1)
    if (!allowed) return taken
    const slot = found.anySlot < 0 ? states.insert(found.key, taken.tat - taken.now, taken.now) : found.anySlot
    slots.move(slot, taken.tat)
    earlies.set(slot, early.tat)
    return taken
  }
  // The most common states are taken by functions that are small enough for engines to inline them.
  return {
    look(key, now) {
      const slot = slots.find(key)
      const tat = slot < 0 ? -1 : slots.moment(slot)
      if (tat < 0 || tat - now > ceiling || earlies.scale !== 1) return lookAt(slot, tat, key, now)
      const base = Math.max(tat, now)
      const allowed = base - now <= room
      found.slot = slot
      taken.now = now
      taken.base = base
      taken.allowed = allowed
      return allowed
    },
    commit(allowed) {
      if (found.slot < 0) return commitAt(allowed)
      const tat = allowed ? taken.base + increment : taken.base
      if (allowed) slots.move(found.slot, tat)
      taken.tat = tat
      taken.gross = tat
      return taken
    },
  }
}
