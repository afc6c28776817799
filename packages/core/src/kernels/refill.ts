import type { Micros } from '../common/time.ts'
import type { State, Step } from './kernel.ts'
import type { PenaltyState } from './penalty.ts'
import type { SlidingWindowState } from './sliding-window.ts'

/** How many entries of a log are added up; each earlier one counts as one unit. */
const SUMMED = 16

/**
 * The microseconds in which one unit refills, for states that count units; 1 for a bucket. Negative for a fixed window,
 * whose units all refill at its end.
 */
export const unitTime = (step: Step): Micros => {
  switch (step.kernel) {
    case 'bucket':
      return 1
    case 'sliding-window':
      return ((step.fixed ? -1 : 1) * step.ticks * step.tick) / Math.max(step.limit, 1)
    case 'sliding-log':
      return step.window / Math.max(step.limit, 1)
    case 'warm-up':
      return 1
    case 'penalty':
      return step.window / step.limit
    case 'slots':
      return step.ttl
  }
}

/**
 * The microseconds in which the used units of a state refill, at a block's end at the latest. Keys are evicted in this
 * order, shortest first. Unlike `emptyAt`, it changes neither with a denial nor with the time of the last allowed
 * request.
 */
export function refillTime(state: State, emptyAt: Micros, unit: Micros, now: Micros): Micros {
  if (typeof state === 'number') return Math.abs(state) - now
  if ('gross' in state) return Math.abs(state.tat) - now
  if ('cold' in state) return state.writtenAt + state.ahead - now
  // A slot in use is worth more than any units.
  if ('slots' in state) return unit * state.slots.length
  if ('level' in state) return unit * unitsInPenalty(state, now) + Math.max(state.until - now, 0)
  if (unit < 0 && 'start' in state) return now < emptyAt ? -unit * state.current : emptyAt - now
  return unit * ('start' in state ? unitsInWindow(state, emptyAt, now) : unitsInLog(state, 0, emptyAt, now))
}

/** Units, and one for each block in a row: a key that was blocked is kept longer than one that never was. */
const unitsInPenalty = ({ count, until, level }: PenaltyState, now: Micros): number =>
  until > 0 && until <= now ? level + 1 : level + count

function unitsInWindow({ start, current, previous }: SlidingWindowState, emptyAt: Micros, now: Micros): number {
  const windows = (2 * (now - start)) / (emptyAt - start)
  if (windows >= 1) return current * Math.max(2 - windows, 0)
  return current + previous * Math.min(1 - windows, 1)
}

/** A lower bound: a whole log is too long to read when many are compared. Entries begin at the index `start`. */
export function unitsInLog(log: readonly number[], start: number, emptyAt: Micros, now: Micros): number {
  const end = log.length
  const from = end === start ? 0 : now - (emptyAt - (log[end - 2] as number))
  // Binary search for the first entry within the window.
  let [first, last] = [0, (end - start) / 2]
  while (first < last) {
    const middle = (first + last) >> 1
    if ((log[start + 2 * middle] as number) > from) last = middle
    else first = middle + 1
  }
  const summed = Math.max(first, (end - start) / 2 - SUMMED)
  let units = summed - first
  for (let i = start + 2 * summed; i < end; i += 2) units += log[i + 1] as number
  return units
}

/** How many keys are compared to evict one, and how many at most as long as all of them have used more than the new key. */
const [SAMPLE, MOST_SAMPLED] = [8, 64]

/**
 * Chooses which of `count` keys is evicted: the least used of a sample. The sample begins with the `next` few keys, which are
 * cheap to read. If all of them have used more than the new key, random keys are added: as long as half of all keys are not
 * limited, a client that places limited keys side by side cannot get one evicted.
 */
export function leastUsed(
  count: number,
  next: () => number,
  refillTimeOf: (place: number) => Micros,
  newRefillTime: Micros,
): number {
  let chosen = next()
  let least = refillTimeOf(chosen)
  for (let i = 1; i < SAMPLE || (i < MOST_SAMPLED && least > newRefillTime); i++) {
    const place = i < SAMPLE ? next() : Math.floor(Math.random() * count)
    const time = refillTimeOf(place)
    if (time >= least) continue
    chosen = place
    least = time
  }
  return chosen
}
