/** The shortest window, in ms. */
const SHORTEST = 100
/** How many times the latency a window lasts at least: one that is shorter would see the fast calls only. */
const LATENCIES = 3
/** The calls that a window has at least; fewer, if it lasts for `LONG` ms already. */
const [CALLS, FEW, LONG] = [20, 3, 5_000]
/** A call counts as this many times the mean at most: one that streams for an hour says nothing about the others. */
const MOST = 10
/** The least latency, in ms: below, clocks measure noise. */
const LEAST = 0.05

/** What a window has seen. */
export interface Seen {
  /** The mean latency of its calls, in ms. */
  readonly latency: number
  /** How many calls were in flight, on average over its time. */
  readonly inFlight: number
  /** Whether calls waited for the limit, and whether so many that their queue did not drain by itself. */
  readonly reached: boolean
  readonly stands: boolean
}

/** Collects the latencies of the calls that start in it. */
export class Window {
  reached = false
  stands = false
  readonly #from: number
  readonly #usual: number
  #changedAt: number
  #inFlight: number
  #area = 0
  #calls = 0
  #sum = 0

  /** `usual` is the latency that calls are expected to have; NaN if it is not known. */
  constructor(now: number, inFlight: number, usual: number) {
    this.#from = now
    this.#changedAt = now
    this.#inFlight = inFlight
    this.#usual = usual
  }

  /** How many are in flight from now on. */
  change(now: number, inFlight: number): void {
    this.#area += this.#inFlight * (now - this.#changedAt)
    this.#changedAt = now
    this.#inFlight = inFlight
  }

  /** A call that started before the window began met another limit: it is no sample. */
  add(now: number, startedAt: number): void {
    if (startedAt < this.#from) return
    const latency = Math.max(now - startedAt, LEAST)
    const mean = this.#calls > 0 ? this.#sum / this.#calls : this.#usual
    this.#calls += 1
    this.#sum += Math.min(latency, MOST * (mean || latency))
  }

  /** What it has seen; undefined if that is too little. */
  close(now: number): Seen | undefined {
    const length = now - this.#from
    const enough = length >= LONG ? FEW : CALLS
    if (this.#calls < enough || length < SHORTEST) return undefined
    const latency = this.#sum / this.#calls
    if (length < LATENCIES * latency) return undefined
    this.change(now, this.#inFlight)
    return { latency, inFlight: this.#area / length, reached: this.reached, stands: this.stands }
  }
}
