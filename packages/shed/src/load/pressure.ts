import type { LoopReading, ReadLoop } from './loop.ts'

/** How often the loop is read, in ms. */
const EVERY = 100
/** A loop that was idle for longer is not overloaded: it was late for another reason, such as a pause of the machine. */
const BUSY = 0.9
/** By how much the dropped share grows at most, and shrinks, with each reading. */
const [GROWTH, DECLINE] = [0.1, 0.03]
/** Some calls are always let through, so that the end of the overload shows. */
const MOST = 0.95
/** How much more slowly the share of critical calls grows. */
const SLOWER = 0.1
/** How many readings in a row are late before calls are dropped: fewer may be a burst. */
const LATE = 3
/** How much the calls of one reading count in the mix of priorities. */
const RECENT = 0.3

/**
 * Drops calls while the event loop is late. An overloaded process does not notice that it has too many calls in flight: it
 * serves one after the other, and the others wait where it does not see them. The share that is dropped follows the lag.
 */
export class Pressure {
  readonly #read: ReadLoop
  readonly #most: number
  #readAt: number
  /** The share that is dropped of all calls that are not critical, and of critical ones. */
  #share = 0
  #critical = 0
  /** How many readings in a row were late. */
  #late = 0
  /** What remains of each priority's share, so that of ten calls with a share of 0.3 three are dropped. */
  readonly #rest = [0, 0, 0]
  readonly #counts = [0, 0, 0]
  readonly #mix = [0, 1, 0]
  last: LoopReading = { lagMs: 0, utilization: 0 }

  /** `most` is the lag that is accepted, in ms. */
  constructor(read: ReadLoop, most: number, now: number) {
    this.#read = read
    this.#most = most
    this.#readAt = now
  }

  /** Why a call is dropped; undefined if it is not. */
  check(tier: number, now: number): 'priority' | 'time-out' | undefined {
    if (now - this.#readAt >= EVERY) this.#update(now)
    this.#counts[tier] = (this.#counts[tier] as number) + 1
    if (this.#share === 0) return undefined
    const share = this.#shareOf(tier)
    const rest = (this.#rest[tier] as number) + share
    this.#rest[tier] = rest >= 1 ? rest - 1 : rest
    if (rest < 1) return undefined
    return share === 1 ? 'priority' : 'time-out'
  }

  /** The share of a priority that is dropped. */
  #shareOf(tier: number): number {
    if (tier === 0) return this.#critical
    const [, usual, sheddable] = this.#mix as [number, number, number]
    const dropped = this.#share * (usual + sheddable)
    const [left, own] = tier === 1 ? [dropped - sheddable, usual] : [dropped, sheddable]
    return left <= 0 ? 0 : left >= own ? 1 : left / own
  }

  #update(now: number): void {
    this.#readAt = now
    this.last = this.#read()
    const { lagMs, utilization } = this.last
    const all = this.#counts.reduce((sum, each) => sum + each, 0)
    for (const [tier, count] of this.#counts.entries()) {
      const before = this.#mix[tier] as number
      if (all > 0) this.#mix[tier] = before + RECENT * (count / all - before)
      this.#counts[tier] = 0
    }
    this.#late = lagMs > this.#most && utilization > BUSY ? this.#late + 1 : 0
    if (this.#late >= LATE) this.#grow(GROWTH * Math.min(1, Math.log2(lagMs / this.#most)))
    else if (this.#late === 0) {
      this.#share = Math.max(0, this.#share - DECLINE)
      this.#critical = Math.max(0, this.#critical - DECLINE)
    }
  }

  /** Critical calls are dropped only if it is not enough to drop all others. */
  #grow(growth: number): void {
    const most = this.#critical > 0 || (this.#mix[0] as number) > 0.01 ? 1 : MOST
    if (this.#share >= most) this.#critical = Math.min(MOST, this.#critical + growth * SLOWER)
    this.#share = Math.min(most, this.#share + growth)
  }
}
