import type { Micros } from '../common/time.ts'
import type { State } from './kernel.ts'

/** What a state of another kernel has counted. */
export interface Used {
  /** Units of states that count units. */
  readonly units: number
  /** When they were used, at the earliest. */
  readonly since: Micros
  /** How long after now the key is as a new one, of states that are times. */
  readonly micros: Micros
}

/** What a state of another kernel has counted, as far as it counts in a window of `span`. */
export function usedBy(state: State, now: Micros, span: Micros): Used {
  if (typeof state === 'number') return timed(Math.abs(state) - now, now, span)
  if ('gross' in state) return timed(Math.abs(state.tat) - now, now, span)
  if ('cold' in state) return timed(state.ahead - Math.max(now - state.writtenAt, 0), now, span)
  if ('level' in state) {
    const { until, first, count } = state
    return {
      units: until > 0 && until <= now ? 0 : count,
      since: Math.min(first, now),
      micros: Math.max(until - now, 0),
    }
  }
  // Slots are in use, and use nothing up.
  if ('slots' in state) return counted(0, now)
  if ('start' in state) return counted(state.current + state.previous, Math.min(state.start, now))
  let units = 0
  for (let i = 0; i < state.length; i += 2) if ((state[i] as number) > now - span) units += state[i + 1] as number
  return counted(units, Math.min(state.at(-2) ?? now, now))
}

const counted = (units: number, since: Micros): Used => ({ units, since, micros: 0 })

/** A quota that is much shorter forgets the time of a longer one. */
const timed = (micros: Micros, now: Micros, span: Micros): Used => ({
  units: 0,
  since: now,
  micros: micros > 0 && micros <= 2 * span ? micros : 0,
})

/**
 * What a kernel that counts units counts instead: the same units, or the same share of its limit; its limit at most. Units
 * count from the start of their window.
 */
export function countedBy(state: State, now: Micros, limit: number, span: Micros): Pick<Used, 'units' | 'since'> {
  const { units, since, micros } = usedBy(state, now, span)
  const share = Math.ceil((micros * limit) / span)
  const live = now - since < span ? Math.min(units, limit) : 0
  return share > live ? { units: Math.min(share, limit), since: now } : { units: live, since }
}
