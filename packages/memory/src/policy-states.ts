import type { Micros, State, Step } from '@spillway/core'
import { emptyAt, hasKnownHashes, leastUsed, refillTime, unitsInLog, unitTime } from '@spillway/core/internal'
import { Earlies } from './earlies.ts'
import { FIRST, logOf, stateOf } from './log.ts'
import { type Other, Others } from './others.ts'
import { PackedSlots } from './packed-slots.ts'
import { Pages } from './pages.ts'
import { MapSlots, type Slots, type StoredKey } from './slots.ts'
import { MOST_COUNT, Windows } from './windows.ts'

/** The maximum number of keys in one Map: a Map of a million blocks the program for tens of milliseconds as it grows. */
const MAX_MAP_KEYS = 131_072
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
 * expires. If a unit does not take whole microseconds, a second array says how much earlier that is. The timestamp of any
 * other state is its expiry with a minus sign: windows are three numbers in another array, logs are lists that are changed in
 * place, and the rest are objects. There are no timers: each new key sweeps up to two expired states. If the store is full, it
 * samples a few keys and evicts the one that has used the least. A limited key outlives unused ones, and a flood of new keys
 * does not evict it.
 */
export class PolicyStates {
  /** The timestamp of a slot is its bucket state, or negative if the state is something else. */
  readonly slots: Slots
  /** How much earlier than its timestamp a slot's bucket is full again. */
  readonly earlies: Earlies = new Earlies()
  /** The windows of the slots with a negative timestamp that have no other state. */
  readonly windows: Windows = new Windows()
  readonly #most: number
  /** Undefined until there is one: engines make slow code for an index beyond the end of a list. */
  #others: Others | undefined
  /** The time per unit of each state that is no bucket. It is only compared with others, so that it may be rounded. */
  readonly #units = new Pages((length) => new Float32Array(length))
  /** The first free slot; the timestamp of a free slot is the next one. */
  #free = NONE
  #freed = 0
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

  /** The state of a slot that is neither a number nor a window. */
  other(slot: number): Other | undefined {
    return this.#others === undefined ? undefined : this.#others.get(slot)
  }

  /**
   * Reports whether a slot that has no bucket has the window of this start, and of this time per unit; false, too, if the policy
   * has had other states. Small, so that engines inline the take of a window into its caller.
   */
  isWindow(slot: number, start: Micros, unit: Micros): boolean {
    return this.#others === undefined && this.windows.start(slot) === start && this.#units.get(slot) === unit
  }

  state(slot: number): State | undefined {
    if (slot < 0) return undefined
    const moment = this.slots.moment(slot)
    if (moment >= 0) return this.earlies.stateOf(slot, moment)
    const other = this.other(slot)
    if (other === undefined) return this.windows.stateOf(slot)
    return Array.isArray(other) ? stateOf(other) : other
  }

  /** Writes the state of a key by `step`. */
  put(key: string, state: State, step: Step, now: Micros): void {
    const at = emptyAt(state, step)
    const unit = Math.fround(unitTime(step))
    const known = this.find(key)
    const slot = known < 0 ? this.insert(key, refillTime(state, at, unit, now), now) : known
    if (typeof state === 'number') {
      if (state >= 0) this.writeBucket(slot, state, 0)
      else this.writeOther(slot, { tat: state, gross: -state, turn: 0 }, at, unit)
    } else if (this.earlies.holds(state)) this.writeBucket(slot, state.tat, state.early)
    else if ('start' in state && state.current <= MOST_COUNT && state.previous <= MOST_COUNT) {
      this.writeWindow(slot, state.start, state.current, state.previous, at, unit)
    } else this.writeOther(slot, Array.isArray(state) ? logOf(state) : (state as Other), at, unit)
    if (step.kernel === 'bucket' && step.start !== null) this.#keep = Math.max(this.#keep, step.start.keep)
  }

  /** Adds a key. `used` is the time in which the units of its state refill. */
  insert(key: string, used: Micros, now: Micros): number {
    this.#sweep(now)
    if (this.#free === NONE && this.#length === this.#most) this.#evict(used, now)
    const slot = this.#free === NONE ? this.#length++ : this.#reuse()
    this.slots.set(key, slot)
    return slot
  }

  /** A bucket without a debt: `tat` is no less than 0. */
  writeBucket(slot: number, tat: number, early: number): void {
    this.slots.move(slot, tat)
    this.earlies.set(slot, early)
    this.#others?.delete(slot)
  }

  writeWindow(slot: number, start: Micros, current: number, previous: number, at: Micros, unit: Micros): void {
    this.windows.set(slot, start, current, previous)
    this.#expire(slot, at, unit)
    this.#others?.delete(slot)
  }

  writeOther(slot: number, state: Other, at: Micros, unit: Micros): void {
    this.#others ??= new Others()
    this.#others.set(slot, state)
    this.#expire(slot, at, unit)
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

  /** The stored keys with their states, in chunks of up to `most` slots. */
  *chunks(most: number): Generator<readonly (StoredKey & { readonly state: State })[]> {
    for (let first = 0; first < this.#length; first += most) {
      const found: (StoredKey & { readonly state: State })[] = []
      for (let slot = first; slot < Math.min(first + most, this.#length); slot++) {
        const state = this.slots.isTaken(slot) ? this.state(slot) : undefined
        if (state !== undefined) found.push({ ...this.slots.keyOf(slot), state })
      }
      yield found
    }
  }

  get size(): number {
    return this.#length - this.#freed
  }

  /** Notes when a state that is no bucket expires. */
  #expire(slot: number, at: Micros, unit: Micros): void {
    // An empty log expires at 0, and must be negative, too.
    this.slots.move(slot, Math.min(-at, -1))
    this.#units.set(slot, unit)
  }

  #sweep(now: Micros): void {
    for (let i = 0; i < SWEEP_PER_INSERT && i < this.#length; i++) {
      const slot = this.#next()
      if (this.slots.isTaken(slot) && this.#emptyAt(slot) + this.#keep + GRACE <= now) this.#clear(slot)
    }
  }

  #evict(used: Micros, now: Micros): void {
    const slot = leastUsed(
      this.#length,
      () => this.#next(),
      (each) => this.#refillTime(each, now),
      used,
    )
    if (this.#emptyAt(slot) + this.#keep > now) this.evictions++
    this.#clear(slot)
  }

  #clear(slot: number): void {
    this.slots.clear(slot)
    this.#others?.delete(slot)
    this.slots.move(slot, this.#free)
    this.#free = slot
    this.#freed++
  }

  #reuse(): number {
    const slot = this.#free
    // An integer for engines, too: a Map would allocate other numbers.
    this.#free = this.slots.moment(slot) | 0
    this.#freed--
    return slot
  }

  #next(): number {
    this.#hand = this.#hand + 1 < this.#length ? this.#hand + 1 : 0
    return this.#hand
  }

  #emptyAt(slot: number): Micros {
    return Math.abs(this.slots.moment(slot))
  }

  #refillTime(slot: number, now: Micros): Micros {
    const moment = this.slots.moment(slot)
    if (moment >= 0) return moment - now
    const unit = this.#units.get(slot)
    const other = this.other(slot) ?? this.windows.stateOf(slot)
    if (Array.isArray(other)) return unit * unitsInLog(other, other[FIRST] as number, -moment, now)
    return refillTime(other, -moment, unit, now)
  }
}
