import type { BucketStep, Micros, PreparedTake } from '@spillway/core'
import type { Fraction } from '@spillway/core/internal'
import type { PolicyStates } from './policy-states.ts'

/** The bucket kernel for the most common step and state, on the stored numbers. */
export function prepare(states: PolicyStates, step: BucketStep, clock: () => Micros): PreparedTake {
  const { slots, earlies } = states
  const { increment, ceiling, fraction } = step
  if (fraction !== null) return prepareFraction(states, step, fraction, clock)
  const room = step.tolerance - step.check
  return (key, now = clock()) => {
    const slot = slots.find(key)
    const tat = slot < 0 ? Number.NaN : slots.moment(slot)
    // The kernel decides if there is no state, a debt, a reservation, refunds, another kernel's state, or a clock step.
    if (!(tat >= 0 && tat - now <= ceiling) || earlies.scale !== 1) return Number.NaN
    const ahead = tat > now ? tat - now : 0
    if (ahead <= room) slots.move(slot, now + ahead + increment)
    return ahead
  }
}

/** The same in parts of a microsecond, for units that do not refill in whole microseconds. */
function prepareFraction(
  { slots, earlies }: PolicyStates,
  { increment, check, tolerance, ceiling }: BucketStep,
  fraction: Fraction,
  clock: () => Micros,
): PreparedTake {
  const { scale } = fraction
  const ticks = increment * scale - fraction.increment
  const room = (tolerance - check) * scale - (fraction.tolerance - fraction.check)
  earlies.adopt(scale)
  return (key, now = clock()) => {
    const slot = slots.find(key)
    const tat = slot < 0 ? Number.NaN : slots.moment(slot)
    if (!(tat >= 0 && tat - now <= ceiling) || earlies.scale !== scale) return Number.NaN
    const ahead = tat > now ? (tat - now) * scale - earlies.get(slot) : 0
    if (ahead <= room) {
      const next = ahead + ticks
      const span = Math.ceil(next / scale)
      slots.move(slot, now + span)
      earlies.set(slot, span * scale - next)
    }
    return ahead
  }
}
