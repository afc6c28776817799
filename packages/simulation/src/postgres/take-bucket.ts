import type { Micros, State } from '@spillway/core'
import type { Effect, Keyspace } from '../batches.ts'
import { stepsIn } from './steps.ts'

/** A state of the row's column `tat`, which is no other kernel's and has no refunds. */
interface Plain {
  readonly tat: number
  readonly scale: number
  readonly early: number
}

/**
 * The SQL function `take_bucket` with the arguments that the store sends: all calls, or a denial of the first. Returns
 * undefined where it calls `take_calls`.
 */
export function takeBucket(
  space: Keyspace,
  now: Micros,
  values: readonly unknown[],
): readonly [answer: readonly number[], effects: readonly Effect[]] | undefined {
  const [name, total, totalEarly, scale, mostAhead, , ceiling, firstAhead, firstEarly, lastAhead, lastEarly, steps] =
    values as [string, number, number, number, number | null, number, number, number, number, number, number, string]
  const stored = space.read(name)
  const plain = plainOf(stored)
  if (plain === undefined && stored !== undefined) return undefined
  const take = (base: Micros, early: number): ReturnType<typeof takeBucket> => {
    const tick = base + total - Math.floor((early + totalEarly) / scale)
    const rest = (early + totalEarly) % scale
    const [step] = stepsIn(steps)
    space.write(name, stateOf(tick - now > ceiling ? -tick : tick, rest, scale), tick, now)
    return [[now, 1, tick, rest], step ? [{ name, step, ticks: tick - base }] : []]
  }
  if (plain === undefined) return lastAhead < 0 ? undefined : take(now, 0)
  const base = Math.max(Math.abs(plain.tat), now)
  const early = plain.scale === scale && Math.abs(plain.tat) > now ? plain.early : 0
  if (mostAhead !== null && plain.tat > 0 && plain.tat <= now + mostAhead) return take(base, early)
  if (plain.tat - now > ceiling) return undefined
  if (base - Math.floor((early + firstEarly) / scale) > now + firstAhead) return [[now, 0, base, early], []]
  return base - Math.floor((early + lastEarly) / scale) > now + lastAhead ? undefined : take(base, early)
}

function plainOf(state: State | undefined): Plain | undefined {
  if (typeof state === 'number') return { tat: state, scale: 1, early: 0 }
  if (state === undefined || !('grossEarly' in state)) return undefined
  const { tat, gross, turn, scale, early, grossEarly } = state
  return gross === Math.abs(tat) && turn === 0 && early === grossEarly ? { tat, scale, early } : undefined
}

const stateOf = (tat: number, early: number, scale: number): State =>
  early === 0 ? tat : { tat, gross: Math.abs(tat), turn: 0, scale, early, grossEarly: early }
