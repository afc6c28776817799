import type { Micros, State, Step } from '@spillway/core'
import { emptyAt, hasKnownHashes, leastUsed, refillTime, unitTime } from '@spillway/core/internal'
import { Earlies } from './earlies.ts'
import { PackedSlots } from './packed-slots.ts'
import { MapSlots, type Slots } from './slots.ts'

/** The maximum number of keys in one Map: a Map of a million blocks the program for tens of milliseconds as it grows. */
const MAX_MAP_KEYS = 131_072
/** How many slots each new key checks for an expired state. */
const SWEEP_PER_INSERT = 2
/** How long an expired state is kept: its key may be used again soon, or the clock may step back. */
const GRACE: Micros = 60e6

/**
 * The states of one policy: up to `most` keys, each in a numbered slot.
 *
 * A bucket's state is one number in a typed array: the theoretical arrival time (TAT), which is also when the state
 * expires. If a unit does not take whole microseconds, a second array says how much earlier that is. Other states are
 * objects, stored beside their expiry. There are no timers: each new key sweeps up to two expired states. If the store is
 * full, it samples a few keys and evicts the one that has used the least. A limited key outlives unused ones, and a flood
 * of new keys does not evict it.
 */
export class PolicyStates {
  /** For the fast path: the timestamp of a slot is its bucket state, or negative if the state is something else. */
  readonly slots: Slots
  /** How much earlier than its timestamp a slot's bucket is full again. */
  readonly earlies: Earlies = new Earlies()
  readonly #most: number
  readonly #others: (State | undefined)[] = []
  /** The time per unit of each of the other states. */
  readonly #units: Micros[] = []
  readonly #free: number[] = []
  #length = 0
  #hand = 0
  /** The longest time that any step keeps a state after its bucket is full. */
  #keep: Micros = 0
  /** How many states were evicted before they expired. */
  evictions = 0

  constructor(most: number) {
    this.#most = most
    this.slots = most <= MAX_MAP_KEYS && !hasKnownHashes() ? new MapSlots() : new PackedSlots()
  }

  /** The slot of a key; -1 if it has none. */
  find(key: string): number {
    return this.slots.find(key)
  }

  state(slot: number): State | undefined {
    return slot < 0 ? undefined : (this.#others[slot] ?? this.earlies.stateOf(slot, this.slots.moment(slot)))
  }

  /** Stores a state that `step` wrote, for a key without one. */
  add(key: string, state: State, step: Step, now: Micros): void {
    this.#sweep(now)
    const slot = this.#free.pop() ?? (this.#length < this.#most ? this.#length++ : this.#evict(state, step, now))
    this.slots.set(key, slot)
    this.write(slot, state, step)
  }

  write(slot: number, state: State, step: Step): void {
    if (typeof state === 'number' || this.earlies.holds(state)) {
      this.slots.move(slot, typeof state === 'number' ? state : state.tat)
      this.earlies.set(slot, typeof state === 'number' ? 0 : state.early)
      if (step.kernel === 'bucket' && step.start !== null) this.#keep = Math.max(this.#keep, step.start.keep)
      if (this.#others.length > 0) this.#others[slot] = undefined
    } else {
      // An empty log expires at 0, and must be negative, too.
      this.slots.move(slot, Math.min(-emptyAt(state, step), -1))
      this.earlies.set(slot, 0)
      this.#others[slot] = state
      this.#units[slot] = unitTime(step)
    }
  }

  /** Reports whether the key had a state. */
  delete(key: string): boolean {
    const slot = this.find(key)
    if (slot >= 0) this.#clear(slot)
    return slot >= 0
  }

  /** Deletes all states, and returns how many there were. The slots are kept: prepared takes refer to them. */
  clear(): number {
    const before = this.size
    for (let slot = 0; slot < this.#length; slot++) if (this.slots.isTaken(slot)) this.#clear(slot)
    return before
  }

  get size(): number {
    return this.#length - this.#free.length
  }

  #sweep(now: Micros): void {
    for (let i = 0; i < SWEEP_PER_INSERT && i < this.#length; i++) {
      const slot = this.#next()
      if (this.slots.isTaken(slot) && this.#emptyAt(slot) + this.#keep + GRACE <= now) this.#clear(slot)
    }
  }

  #evict(state: State, step: Step, now: Micros): number {
    const used = refillTime(state, emptyAt(state, step), unitTime(step), now)
    const slot = leastUsed(
      this.#length,
      () => this.#next(),
      (each) => this.#refillTime(each, now),
      used,
    )
    if (this.#emptyAt(slot) + this.#keep > now) this.evictions++
    this.#clear(slot)
    return this.#free.pop() as number
  }

  #clear(slot: number): void {
    this.slots.clear(slot)
    if (this.#others.length > 0) this.#others[slot] = undefined
    this.#free.push(slot)
  }

  #next(): number {
    this.#hand = this.#hand + 1 < this.#length ? this.#hand + 1 : 0
    return this.#hand
  }

  #emptyAt(slot: number): Micros {
    return Math.abs(this.slots.moment(slot))
  }

  #refillTime(slot: number, now: Micros): Micros {
    const at = this.#emptyAt(slot)
    const state = this.#others.length > 0 ? this.#others[slot] : undefined
    return state === undefined ? at - now : refillTime(state, at, this.#units[slot] as Micros, now)
  }
}
