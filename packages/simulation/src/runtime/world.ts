import { realImmediate, useGlobals } from './globals.ts'
import { Heap } from './heap.ts'
import { type Random, randomOf } from './random.ts'

interface Event {
  readonly due: number
  readonly order: number
  readonly run: () => void
}

/** When a simulation starts, in microseconds since 1970. */
export const START = 1_800_000_000_000_000

/** Events run between two turns of the real event loop: it costs more than an event. */
const EVENTS_PER_TURN = 64

/**
 * Simulated time: events in the order of their times. Between two events all microtasks run, so that promises settle in the
 * process that waits for them. Nothing else decides an order: a seed always gives the same run.
 */
export class World {
  readonly random: Random
  /** The time in microseconds since the start. */
  now = 0
  /** A digest of all events: equal for equal runs. */
  digest = 0
  readonly #events = new Heap<Event>()
  #order = 0

  constructor(seed: number) {
    this.random = randomOf(seed)
  }

  /** Runs `run` at a time, or now if that is past. */
  at(due: number, run: () => void): void {
    this.#events.add({ due: Math.max(Math.round(due), this.now), order: this.#order++, run })
  }

  /** Runs `run` after some microseconds. */
  after(micros: number, run: () => void): void {
    this.at(this.now + micros, run)
  }

  /** Runs all events until a time. Rejects with what an event throws. */
  runUntil(end: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const step = (): void => {
        if (isOver) return
        const event = this.#events.first
        if (event === undefined || event.due > end) {
          isOver = true
          return
        }
        this.#events.remove()
        this.now = event.due
        this.digest = (Math.imul(this.digest, 31) + event.due + event.order) | 0
        try {
          event.run()
        } catch (error) {
          isOver = true
          reject(error)
        }
      }
      const turn = (): void => {
        useGlobals(undefined)
        if (isOver) {
          this.now = Math.max(this.now, end)
          resolve()
        } else {
          for (let i = 0; i < EVENTS_PER_TURN; i++) realImmediate(step)
          realImmediate(turn)
        }
      }
      turn()
    })
  }
}
