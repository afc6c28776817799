import type { Micros } from '../common/time.ts'
import type { Step } from './kernel.ts'
import type { Calendar, SlidingWindowState, SlidingWindowStep, Starts } from './sliding-window.ts'

/**
 * Calendars of processes may differ, if one has newer rules of its time zone, or a quota has moved to another zone. A window
 * that starts up to 12 hours before or after a period's start is that period's: no key gets two quotas for it. All periods
 * are longer: the shortest day since 1970, at a station in Antarctica, had 17 hours.
 */
const SAME_START: Micros = 43_200e6

/** What a window of any calendar is. It comes with the calendar, so that an application without one has no code for it. */
export abstract class Periods implements Calendar {
  abstract startsAround(now: Micros): Starts

  /**
   * A window of the next period remains: its units have been consumed before the clock stepped back. A window of a later
   * period is made to be of this one, with its units.
   */
  windowAt(state: SlidingWindowState | undefined, now: Micros): SlidingWindowState {
    const starts = this.startsAround(now)
    let i = 0
    while ((starts[i + 1] ?? Infinity) <= now) i++
    const start = starts[i] as Micros
    if (state === undefined || state.start < start - SAME_START) return { start, current: 0, previous: 0 }
    if (state.start > (starts[i + 1] ?? start) + SAME_START) return { start, current: state.current, previous: 0 }
    return state.previous === 0 ? state : { ...state, previous: 0 }
  }

  endOf(start: Micros, now: Micros = 0): Micros {
    const time = Math.max(start + SAME_START, now)
    const starts = this.startsAround(time)
    return starts.find((each) => each > time) ?? time + (starts.at(-1) as Micros) - (starts[0] as Micros)
  }
}

/** A step as it is sent to a store: instead of a calendar, it has the starts of the periods around the caller's time. */
export type SentStep = Exclude<Step, SlidingWindowStep> | SentWindowStep

/** The step of a sliding window, with the starts of periods in place of a calendar, which has methods. */
interface SentWindowStep extends Omit<SlidingWindowStep, 'calendar'> {
  /** The starts of a calendar's periods; `null` if all windows have one length. */
  readonly calendar: Starts | null
}

const sent = new WeakMap<SlidingWindowStep, SentWindowStep>()

/** A step as plain data. The store's clock decides in which of the periods a request is. */
export function sentStep(step: Step, now: Micros = Date.now() * 1000): SentStep {
  if (step.kernel !== 'sliding-window' || step.calendar === null) return step as SentStep
  const calendar = step.calendar.startsAround(now)
  const known = sent.get(step)
  if (known?.calendar === calendar) return known
  const made = { ...step, calendar }
  sent.set(step, made)
  return made
}

/** A step of a caller, for a kernel. */
export const receivedStep = (step: SentStep): Step =>
  step.kernel === 'sliding-window' && step.calendar !== null
    ? { ...step, calendar: new SentPeriods(step.calendar) }
    : (step as Step)

/** The periods that a caller has sent. Before the first and after the last, all times are in these. */
class SentPeriods extends Periods {
  readonly #starts: Starts

  constructor(starts: Starts) {
    super()
    this.#starts = starts
  }

  startsAround(): Starts {
    return this.#starts
  }
}
