import type { Waits } from './standing.ts'
import { Tier } from './tier.ts'
import { type DropReason, PRIORITIES, type Waiter } from './waiter.ts'

/** The callers that wait for the limit, by priority. Its bounds are how many wait, and how long. */
export class Queue {
  readonly #tiers: readonly Tier[]
  readonly #most: number
  readonly #waits: Waits
  #size = 0

  constructor(most: number, waits: Waits, salt: number) {
    this.#most = most
    this.#waits = waits
    this.#tiers = PRIORITIES.map(() => new Tier(waits, salt))
  }

  get size(): number {
    return this.#size
  }

  /** When the next caller is dropped; `Infinity` if none waits. */
  dropAt(now: number): number {
    return Math.min(...this.#tiers.map((tier) => tier.dropAt(now)))
  }

  isOverload(now: number): boolean {
    return this.#tiers.some((tier) => tier.isOverload(now))
  }

  /** Adds a caller, and drops another one for it if the queue is full. Returns the reason if that is the caller itself. */
  join(
    tier: number,
    key: string | undefined,
    now: number,
    decided: Waiter['decided'],
  ): Waiter | Exclude<DropReason, 'time-out'> {
    if (this.#size >= this.#most) {
      const lowest = this.#tiers.findLastIndex(({ size }) => size > 0)
      if (lowest < 0) return 'concurrency-limit'
      if (lowest < tier) return 'priority'
      const victim = this.#tiers[lowest]?.victim() as Waiter
      this.leave(victim, now)
      victim.decided(lowest > tier ? 'priority' : 'queue-full')
    }
    this.#size += 1
    return (this.#tiers[tier] as Tier).join(tier, key, now, decided)
  }

  /** Removes the caller whose turn it is, of the highest priority for which there is room. */
  next(now: number, hasRoom: (tier: number) => boolean): Waiter | undefined {
    const tier = this.#tiers.findIndex(({ size }, index) => size > 0 && hasRoom(index))
    if (tier < 0) return undefined
    for (const lower of this.#tiers.slice(tier + 1)) if (lower.size > 0) lower.passedOverAt = now
    this.#size -= 1
    this.#waits.served(now, this.#size > 0)
    return this.#tiers[tier]?.next(now)
  }

  /** Whether callers of this priority or a higher one wait. */
  isAhead(tier: number): boolean {
    return this.#size > 0 && this.#tiers.some(({ size }, index) => index <= tier && size > 0)
  }

  dropLate(now: number): void {
    for (const tier of this.#tiers) {
      tier.dropLate(now, (waiter, reason) => {
        this.#size -= 1
        waiter.decided(reason)
      })
    }
  }

  leave(waiter: Waiter, now: number): void {
    this.#size -= 1
    this.#tiers[waiter.tier]?.remove(waiter, now)
  }
}
