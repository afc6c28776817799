import type { Micros } from '../time.ts'
import type { State, Step } from './kernel.ts'
import type { SlidingLogState } from './sliding-log.ts'
import type { SlidingWindowState } from './sliding-window.ts'

/** How many entries of a log are summed up: of those before them, each counts as one unit. */
const SUMMED = 16

/**
 * How long a bucket of the same quota takes to refill one unit of a state that is no moment; 1 for a bucket. Below zero
 * for a fixed window, whose units all refill at its end.
 */
export const unitTime = (step: Step): Micros => {
  switch (step.kernel) {
    case 'bucket':
      return 1
    case 'sliding-window':
      return ((step.fixed ? -1 : 1) * step.ticks * step.tick) / step.limit
    case 'sliding-log':
      return step.window / step.limit
    case 'warm-up':
      return 1
  }
}

/**
 * How long a bucket would take to refill what a state has used: the order in which keys are evicted, from the shortest.
 * A denial does not change it, nor does it depend on when the key was last allowed, as `emptyAt` does.
 */
export function refillTime(state: State, emptyAt: Micros, unit: Micros, now: Micros): Micros {
  if (typeof state === 'number') return Math.abs(state) - now
  if ('gross' in state) return Math.abs(state.tat) - now
  if ('cold' in state) return state.at + state.ahead - now
  if (unit < 0 && 'start' in state) return now < emptyAt ? -unit * state.current : emptyAt - now
  return unit * ('start' in state ? unitsInWindow(state, emptyAt, now) : unitsInLog(state, emptyAt, now))
}

function unitsInWindow({ start, current, previous }: SlidingWindowState, emptyAt: Micros, now: Micros): number {
  const windows = (2 * (now - start)) / (emptyAt - start)
  if (windows >= 1) return current * Math.max(2 - windows, 0)
  return current + previous * Math.min(1 - windows, 1)
}

/** At least these units: a log is too long to be read whole where many are compared. */
function unitsInLog(log: SlidingLogState, emptyAt: Micros, now: Micros): number {
  const from = log.length === 0 ? 0 : now - (emptyAt - (log[log.length - 2] as number))
  // The first entry that has not left the window, by halving.
  let [first, end] = [0, log.length / 2]
  while (first < end) {
    const middle = (first + end) >> 1
    if ((log[2 * middle] as number) > from) end = middle
    else first = middle + 1
  }
  const summed = Math.max(first, log.length / 2 - SUMMED)
  let units = summed - first
  for (let i = summed; i < log.length / 2; i++) units += log[2 * i + 1] as number
  return units
}

/** How many keys are compared to evict one, and how many at most while all of them have used more than the new key. */
const [SAMPLE, MOST_SAMPLED] = [8, 64]

/**
 * Chooses which of `count` keys is evicted: the one that has used the least among the `next` few, which are neighbours and
 * cheap to look at. While all of those have used more than the new key, others are drawn by lot: however limited keys lie,
 * and whoever has put them there, none is chosen while half of all are not limited.
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
