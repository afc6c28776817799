import type { Clock } from '../src/clock.ts'

interface Event {
  readonly at: number
  readonly callback: () => void
}

/**
 * An event loop: it runs one callback at a time, to its end. A turn runs what has become ready before it, then the microtasks of
 * each, then what was to run after them. Time passes while it idles, and while a callback computes.
 */
export class EventLoop implements Clock {
  idleMs = 0
  #now = 0
  /** Sorted by time. */
  readonly #events: Event[] = []
  #microtasks: (() => void)[] = []
  #immediates: (() => void)[] = []

  now = (): number => this.#now

  after = (ms: number, callback: () => void): (() => void) => {
    const run = { isCancelled: false }
    const unlessCancelled = (): void => {
      if (!run.isCancelled) callback()
    }
    if (ms === 0) this.#immediates.push(unlessCancelled)
    // Timers have whole milliseconds.
    else this.at(this.#now + Math.max(1, Math.ceil(ms)), unlessCancelled)
    return () => {
      run.isCancelled = true
    }
  }

  /** Something happens outside at this time: the loop sees it in its next turn. */
  at(at: number, callback: () => void): void {
    let place = this.#events.length
    while (place > 0 && (this.#events[place - 1] as Event).at > at) place -= 1
    this.#events.splice(place, 0, { at, callback })
  }

  microtask(callback: () => void): void {
    this.#microtasks.push(callback)
  }

  /** The callback that runs computes for so long. */
  compute(ms: number): void {
    this.#now += ms
  }

  runUntil(end: number): void {
    while (this.#now < end) {
      const next = this.#events[0]?.at ?? end
      if (this.#immediates.length === 0 && next > this.#now) {
        this.idleMs += Math.min(next, end) - this.#now
        this.#now = Math.min(next, end)
        if (next >= end) return
      }
      const polledAt = this.#now
      while (this.#events[0] && this.#events[0].at <= polledAt) this.#run((this.#events.shift() as Event).callback)
      const immediates = this.#immediates
      this.#immediates = []
      for (const callback of immediates) this.#run(callback)
    }
  }

  #run(callback: () => void): void {
    callback()
    for (let next = this.#microtasks.shift(); next; next = this.#microtasks.shift()) next()
  }
}
