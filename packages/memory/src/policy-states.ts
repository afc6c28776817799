import type { Micros } from '@spillway/core'
import { leastUsed } from '@spillway/core/internal'
import { Earlies, type Numbers } from './earlies.ts'
import type { Slots } from './slots.ts'

/** How many slots each new key checks for an expired state. */
const SWEEP_PER_INSERT = 2
/** How long an expired state is kept: its key may be used again soon, or the clock may step back. */
const GRACE: Micros = 60e6
/** The slot after the last one that is free. */
const NONE = -1

/**
 * The states of one policy: up to `most` keys, each in a numbered slot.
 *
 * A bucket's state is one number in a typed array: the theoretical arrival time (TAT), which is also when the state
 * expires. If a unit does not take whole microseconds, a second array says how much earlier that is. There are no timers: each
 * new key sweeps up to two expired states. If the store is full, it samples a few keys and evicts the one that has used the
 * least. A limited key outlives unused ones, and a flood of new keys does not evict it.
 */
export class PolicyStates<S extends Slots = Slots> {
  /** The timestamp of a slot is its state: negative if that is more than a number. */
  readonly slots: S
  /** How much earlier than its timestamp a slot's bucket is full again. */
  readonly earlies: Earlies
  readonly #most: number
  /** The first free slot; the timestamp of a free slot is the next one. */
  #free = NONE
  #freed = 0
  /** The number of slots, free ones included. */
  protected length = 0
  #hand = 0
  /** The longest time that any step keeps a state after its bucket is full. */
  protected keep: Micros = 0
  /** How many states were evicted before they expired. */
  evictions = 0

  constructor(most: number, slots: S, parts: Numbers) {
    this.#most = most
    this.slots = slots
    this.earlies = new Earlies(parts)
  }

  /** The slot of a key; -1 if it has none. */
  find(key: string): number {
    return this.slots.find(key)
  }

  /** Adds a key. `used` is the time in which the units of its state refill. */
  insert(key: string, used: Micros, now: Micros): number {
    this.#sweep(now)
    if (this.#free === NONE && this.length === this.#most) this.#evict(used, now)
    const slot = this.#free === NONE ? this.length++ : this.#reuse()
    this.slots.set(key, slot)
    return slot
  }

  /** Reports whether the key had a state. */
  delete(key: string): boolean {
    const slot = this.find(key)
    if (slot >= 0) this.free(slot)
    return slot >= 0
  }

  get size(): number {
    return this.length - this.#freed
  }

  /** Frees a slot that is taken. */
  protected free(slot: number): void {
    this.slots.clear(slot)
    this.slots.move(slot, this.#free)
    this.#free = slot
    this.#freed++
  }

  #sweep(now: Micros): void {
    for (let i = 0; i < SWEEP_PER_INSERT && i < this.length; i++) {
      const slot = this.#next()
      if (this.slots.isTaken(slot) && this.#emptyAt(slot) + this.keep + GRACE <= now) this.free(slot)
    }
  }

  #evict(used: Micros, now: Micros): void {
    const slot = leastUsed(
      this.length,
      () => this.#next(),
      (each) => this.refillTime(each, now),
      used,
    )
    if (this.#emptyAt(slot) + this.keep > now) this.evictions++
    this.free(slot)
  }

  #reuse(): number {
    const slot = this.#free
    // An integer for engines, too: a Map would allocate other numbers.
    this.#free = this.slots.moment(slot) | 0
    this.#freed--
    return slot
  }

  #next(): number {
    this.#hand = this.#hand + 1 < this.length ? this.#hand + 1 : 0
    return this.#hand
  }

  #emptyAt(slot: number): Micros {
    return Math.abs(this.slots.moment(slot))
  }

  /** The time in which the used units of a slot's state refill. */
  protected refillTime(slot: number, now: Micros): Micros {
    return this.slots.moment(slot) - now
  }
}
