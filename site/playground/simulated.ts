import type { Micros } from '@spillway/core'

interface Event {
  readonly at: Micros
  readonly callback: () => unknown
}

/** How many promises can wait for one another between two events: of all that a request waits for, there are fewer. */
const STEPS = 100

/** Time that passes from event to event: the clock and the timers of a run. */
export class SimulatedTime {
  now: Micros
  /** The next is the last. */
  readonly #events: Event[] = []

  constructor(start: Micros) {
    this.now = start
  }

  /** Calls back at a time. Returns what cancels it. */
  at(moment: Micros, callback: () => unknown): () => void {
    const event = { at: Math.max(Math.round(moment), this.now), callback }
    let [low, high] = [0, this.#events.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#events[middle] as Event).at > event.at) low = middle + 1
      else high = middle
    }
    this.#events.splice(low, 0, event)
    return () => {
      const index = this.#events.indexOf(event)
      if (index >= 0) this.#events.splice(index, 1)
    }
  }

  /** Calls back after a time, as `setTimeout`, never too early nor at once: time goes on. Returns what cancels it. */
  after = (millis: number, callback: () => void): (() => void) =>
    this.at(Math.floor(this.now + millis * 1000) + 1, callback)

  /** Runs the next event; false if there is none. */
  next(): boolean {
    const event = this.#events.pop()
    if (event === undefined) return false
    this.now = event.at
    event.callback()
    return true
  }

  /** Runs events until a time is over, and what waits for promises after each before the next. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver() && this.next()) for (let i = 0; i < STEPS; i++) await undefined
  }

  /** Takes the callbacks of the events that have not run. */
  rest(): readonly (() => unknown)[] {
    return this.#events.splice(0).map(({ callback }) => callback)
  }
}
