import type { Clock } from './clock.ts'

/**
 * A turn of the event loop, from the first call that starts in it. A process that computes does not see what has arrived in the
 * meantime: that waits in its sockets, not in its queue. Calls that start and end in one turn are never in flight together, so that
 * no limit bounds them: a turn has a time for them.
 */
export class Turn {
  /** How long the last one was, in ms. */
  lastMs = 0
  /** How many there were before. */
  count = 0
  #isOpen = false
  #spent = 0
  readonly #most: number
  readonly #clock: Clock
  readonly #ended: () => void

  /** `most` is the time, in ms. `ended` is called when the loop has looked for what has arrived. */
  constructor(most: number, clock: Clock, ended: () => void) {
    this.#most = most
    this.#clock = clock
    this.#ended = ended
  }

  get hasTime(): boolean {
    return this.#spent < this.#most
  }

  /** A call starts. Returns which turn it is. */
  begin(now: number): number {
    if (!this.#isOpen) {
      this.#isOpen = true
      this.#clock.after(0, () => {
        this.lastMs = this.#clock.now() - now
        this.#isOpen = false
        this.#spent = 0
        this.count += 1
        this.#ended()
      })
    }
    return this.count
  }

  /** A call ends that has started in some turn, and taken so long. */
  end(turn: number, ms: number): void {
    if (turn === this.count) this.#spent += ms
  }
}
