import type { Seen } from './window.ts'

/** The share of the calls in service that the first window of a probe lets through, and each further one of the calls before. */
const [FIRST, FURTHER] = [0.85, 0.75]

/**
 * Whether it is time for a probe between two times: each period, rounded up to 1, 2, 4, 8 … s. Of such periods, the turns of a
 * longer one are also turns of the shorter ones, so that processes with different periods still meet.
 */
export function isTurn(from: number, to: number, period: number): boolean {
  const rounded = 1_000 * 2 ** Math.ceil(Math.log2(period / 1_000))
  return Math.floor(to / rounded) > Math.floor(from / rounded)
}

/**
 * Measures the latency of an idle service: it lowers the limit, window by window. As long as latency falls with the number of
 * calls, they have queued, and the service loses nothing. When it does not fall any more, nothing queues: that is the idle
 * latency. If it never falls, the service has become slower, and a lower limit would only waste it.
 */
export class Probe {
  limit: number
  #last: Seen
  readonly #min: number

  /** `inService` is how many of the calls are believed to be in service. */
  constructor(last: Seen, inService: number, min: number) {
    this.#last = last
    this.#min = min
    this.limit = Math.max(min, Math.floor(FIRST * inService))
  }

  /** Goes on after a window. Returns the idle latency if it is known. */
  next(seen: Seen): number | undefined {
    const { latency, inFlight } = seen
    const share = inFlight / this.#last.inFlight
    // By half of what it would fall by if all calls that are missing had queued.
    const queued = share < 1 && latency < this.#last.latency * (1 - (1 - share) / 2)
    const lower = Math.max(this.#min, Math.floor(FURTHER * this.limit))
    if (!queued || lower >= this.limit) return Math.min(latency, this.#last.latency)
    this.#last = seen
    this.limit = lower
    return undefined
  }
}
