/** How long callers may wait, in ms. */
export interface Waits {
  /** A queue in which callers wait for longer than this, for all of `interval`, is one of overload. */
  readonly target: number
  /** How long callers wait at most without overload. */
  readonly interval: number
}

/**
 * Detects a standing queue, as CoDel does: one whose oldest caller has waited for longer than the target, all the time for an
 * interval. A burst that drains within the interval is none. It is over when no caller has waited for that long for an interval.
 */
export class Standing {
  readonly #waits: Waits
  #oldest = Infinity
  /** Since when the oldest caller has waited too long. */
  #since = Infinity
  #isOverload = false
  /** When a caller had last waited too long. */
  #last = Number.NEGATIVE_INFINITY

  constructor(waits: Waits) {
    this.#waits = waits
  }

  /** Another caller is the oldest one, since `arrivedAt`; `Infinity` if none waits. */
  oldest(now: number, arrivedAt: number): void {
    this.isOverload(now)
    this.#oldest = arrivedAt
    const tooLong = arrivedAt + this.#waits.target
    if (tooLong > now || this.#since > now) this.#since = tooLong
  }

  isOverload(now: number): boolean {
    const { interval } = this.#waits
    if (this.#since <= now) this.#last = now
    if (now - this.#since >= interval) this.#isOverload = true
    else if (now - this.#last >= interval) this.#isOverload = false
    return this.#isOverload
  }

  /** When the oldest caller is dropped: hardly after the target under overload, as its turn would come too late. */
  dropAt(now: number): number {
    const { target, interval } = this.#waits
    const soon = this.isOverload(now) ? now : this.#since + interval
    return Math.min(this.#oldest + interval, Math.max(this.#oldest + 2 * target, soon))
  }
}
