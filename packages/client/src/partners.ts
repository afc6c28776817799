import { evictOldest } from '@spillway/core/internal'
import type { Limits } from './limits.ts'
import { Throttle } from './throttle.ts'

/** The most keys whose answers are remembered; the least recently called are forgotten first. */
const MOST_KEYS = 10_000

/** Retries that a key may have in a row, and its share of all calls. */
const [MOST_RETRIES, RETRIES_PER_CALL] = [10, 0.1]

/** What is known about a key from its answers. */
export class Partner {
  readonly throttle: Throttle = new Throttle()
  /** Its limits, if it has other ones than those of the quota. */
  limits: Limits | undefined
  /** Until when this process has paused it, by the monotonic clock. */
  pausedUntilMs = 0
  /** How many answers in a row were denials. */
  denials = 0
  #retries = MOST_RETRIES

  /** Counts a call: each lets a tenth of a retry be made. */
  countCall(): void {
    this.#retries = Math.min(this.#retries + RETRIES_PER_CALL, MOST_RETRIES)
  }

  /** Whether one more retry may be made, which it counts. */
  mayRetry(): boolean {
    if (this.#retries < 1) return false
    this.#retries -= 1
    return true
  }
}

/** What is known about keys. */
export class Partners {
  readonly #known = new Map<string, Partner>()

  of(key: string): Partner {
    const partner = this.#known.get(key) ?? new Partner()
    this.#known.delete(key)
    this.#known.set(key, partner)
    evictOldest(this.#known, MOST_KEYS)
    return partner
  }
}
