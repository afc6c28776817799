/** How many calls are served within the target and the interval, if that is longer. */
const [TARGET, INTERVAL] = [5, 100]
/** How many times longer they become at most. */
const LONGER = 20
/** How much the time between two calls counts in the mean. */
const RECENT = 0.05

/** How long callers may wait, in ms: longer where calls are served slowly, as each waits for the ones before it. */
export class Waits {
  readonly #target: number
  readonly #interval: number
  #servedAt: number | undefined
  /** The mean time between two calls that are served. */
  #pace = 0

  constructor(target: number, interval: number) {
    this.#target = target
    this.#interval = interval
  }

  /** A queue in which callers wait for longer than this, for all of `interval`, is one of overload. */
  get target(): number {
    return Math.max(this.#target, TARGET * this.#pace)
  }

  /** How long callers wait at most without overload. */
  get interval(): number {
    return Math.max(this.#interval, INTERVAL * this.#pace)
  }

  /** A caller is served, and others wait or not. */
  served(now: number, othersWait: boolean): void {
    if (this.#servedAt !== undefined) {
      const pace = Math.min(now - this.#servedAt, (LONGER * this.#interval) / INTERVAL)
      this.#pace += (this.#pace === 0 ? 1 : RECENT) * (pace - this.#pace)
    }
    this.#servedAt = othersWait ? now : undefined
  }
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
