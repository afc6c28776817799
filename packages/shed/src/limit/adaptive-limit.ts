import type { Limit } from './limit.ts'
import { isTurn, Probe } from './probe.ts'
import { type Seen, Window } from './window.ts'

/** The bounds of a limit that adapts. */
export interface Bounds {
  readonly min: number
  readonly max: number
  readonly initial: number
}

/** Latency may be this many times that of an idle service before it counts as queueing: latencies vary by themselves. */
const TOLERANCE = 1.2
/** Queued calls that the limit accepts, as multiples of log10 of the limit: below the first it grows, above the second it shrinks. */
const [FEWER, MORE] = [2.5, 3.5]
/** How long an idle latency that was measured is believed, in ms: by itself, and if calls seem to queue; */
const [BELIEVED, DOUBTED] = [4_000, 1_000]
/** and as multiples of itself, as probes of slow calls take long. */
const [BELIEVED_TIMES, DOUBTED_TIMES] = [150, 30]
/** A measured latency within this share of the idle one is noise in part. */
const NOISE = 0.3
/** How much of a lower latency is believed at once: the lowest of noisy means would be too low. */
const LOWER = 0.3

/** What the last window has shown. */
interface Shown {
  readonly seen: Seen
  /** How many of its calls are believed to be in service. */
  readonly inService: number
  readonly at: number
  /** For how long the idle latency is believed, in ms. */
  readonly believed: number
}

/**
 * Finds how many calls the service behind can take at once. By Little's law, of `n` calls in flight `n × idle / latency` are in
 * service, and the others queue there. The limit keeps a few calls queued, so that the service is never idle.
 *
 * The latency of an idle service is measured by probes, while more calls come than the limit lets through. Processes probe at
 * the same times, as far as their clocks agree: else each would take the queue that the others cause for a slow service.
 */
export class AdaptiveLimit implements Limit {
  readonly #min: number
  readonly #max: number
  #limit: number
  /** The latency of a call that finds nothing queued. */
  #idle = Number.NaN
  #probedAt = Number.NEGATIVE_INFINITY
  #probe: Probe | undefined
  #window: Window | undefined
  #last: Shown | undefined
  /** Until calls have queued for the first time, the limit doubles. */
  #starts = true

  constructor({ min, max, initial }: Bounds) {
    this.#min = min
    this.#max = max
    this.#limit = initial
  }

  get current(): number {
    return Math.max(this.#min, Math.floor(this.#probe?.limit ?? this.#limit))
  }

  started(now: number, inFlight: number): void {
    this.#window ??= new Window(now, inFlight, this.#idle)
    this.#window.change(now, inFlight)
  }

  reached(stands: boolean): void {
    if (this.#window === undefined) return
    this.#window.reached = true
    this.#window.stands ||= stands
  }

  ended(now: number, inFlight: number, startedAt: number | undefined): void {
    const window = this.#window
    if (window === undefined) return
    if (startedAt !== undefined) window.add(now, startedAt)
    window.change(now, inFlight)
    if (this.#isDue(now)) {
      this.#startProbe(now, inFlight)
      return
    }
    const seen = window.close(now)
    if (seen === undefined) return
    if (this.#probe) this.#follow(this.#probe, seen, now)
    else this.#adapt(seen, now)
    this.#window = new Window(now, inFlight, seen.latency)
  }

  /** A probe does not wait for its window to end, as those of other processes end at other times. */
  #isDue(now: number): boolean {
    const last = this.#last
    if (last === undefined || this.#probe || !last.seen.stands) return false
    return now - this.#probedAt > DOUBTED && isTurn(last.at, now, last.believed)
  }

  #startProbe(now: number, inFlight: number): void {
    const { seen, inService } = this.#last as Shown
    this.#probe = new Probe(seen, inService, this.#min)
    this.#window = new Window(now, inFlight, seen.latency)
    this.#last = undefined
  }

  #adapt(seen: Seen, now: number): void {
    const { latency, inFlight, reached } = seen
    if (Number.isNaN(this.#idle)) this.#idle = latency
    else if (latency < this.#idle) this.#idle += LOWER * (latency - this.#idle)
    const inService = Math.min(1, (TOLERANCE * this.#idle) / latency) * inFlight
    const queued = inFlight - inService
    const log = Math.max(0.3, Math.log10(this.#limit))
    const [least, times] = queued > MORE * log ? [DOUBTED, DOUBTED_TIMES] : [BELIEVED, BELIEVED_TIMES]
    this.#last = { seen, inService, at: now, believed: Math.max(least, times * this.#idle) }
    if (queued > FEWER * log) this.#starts = false
    if (queued > MORE * log) {
      this.#set(this.#limit - Math.max(1, log, (queued - MORE * log) / 2))
    } else if (reached && queued < FEWER * log && inFlight > this.#limit / 2) this.#grow(queued, log)
  }

  #grow(queued: number, log: number): void {
    if (this.#starts) this.#set(2 * this.#limit)
    else this.#set(this.#limit + (queued < log ? Math.sqrt(this.#limit) : Math.max(1, log)))
  }

  #follow(probe: Probe, seen: Seen, now: number): void {
    const idle = probe.next(seen)
    if (idle === undefined) return
    const isNear = Math.abs(idle - this.#idle) < NOISE * this.#idle
    this.#idle = isNear ? (idle + this.#idle) / 2 : idle
    this.#probedAt = now
    this.#probe = undefined
  }

  #set(limit: number): void {
    this.#limit = Math.min(this.#max, Math.max(this.#min, limit))
  }
}
