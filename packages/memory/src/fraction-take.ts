import type { BucketStep, BucketTaken, Micros, PreparedTake, Taken } from '@spillway/core'
import { type Found, GENERAL, NONE, type Reused, wholeTick } from '@spillway/core/internal'
import type { PolicyStates } from './policy-states.ts'

/** The bucket kernel on stored numbers, for a bucket whose units take parts of a microsecond. */
export function fractionTake(
  states: PolicyStates,
  step: BucketStep,
  parts: NonNullable<BucketStep['fraction']>,
  general: PreparedTake,
): PreparedTake {
  const { slots, earlies } = states
  const { increment, ceiling } = step
  const { scale } = parts
  const room = step.tolerance - step.check
  const early = { scale, base: 0, tat: 0 }
  const taken: Reused<BucketTaken> = { allowed: false, now: 0, base: 0, tat: 0, early }
  const found: Found = { slot: NONE, key: '' }

  const look = (key: string, now: Micros): boolean => {
    const slot = slots.find(key)
    const tat = slot < 0 ? 0 : slots.moment(slot)
    found.slot = tat < 0 || tat - now > ceiling ? GENERAL : slot
    if (found.slot === GENERAL) return general.look(key, now)
    if (slot < 0) found.key = key
    taken.now = now
    taken.base = Math.max(tat, now)
    early.base = tat <= now ? 0 : earlies.get(slot)
    taken.allowed = wholeTick(taken.base - now - room, early.base + parts.check - parts.tolerance, scale) <= 0
    return taken.allowed
  }
  const commit = (allowed: boolean): Taken => {
    if (found.slot === GENERAL) return general.commit(allowed)
    taken.tat = taken.base
    early.tat = early.base
    if (!allowed) return taken
    const sum = early.base + parts.increment
    early.tat = sum < scale ? sum : sum - scale
    taken.tat = taken.base + increment - (sum < scale ? 0 : 1)
    const slot = found.slot < 0 ? states.insert(found.key, taken.tat - taken.now, taken.now) : found.slot
    slots.move(slot, taken.tat)
    earlies.set(slot, early.tat)
    return taken
  }
  const take = (key: string, now: Micros): Taken => commit(look(key, now))
  const consumer: PreparedTake['consumer'] = (clock, decide, other) => (key, cost) =>
    (cost === undefined || cost === 1) && typeof key === 'string' && key !== ''
      ? decide(take(key, clock()))
      : other(key, cost)
  return { look, commit, take, consumer }
}
