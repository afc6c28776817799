import type { Micros, State } from '@spillway/core'
import { ManySlots, type Slots } from './slots.ts'

/** The most keys that one Map holds: when one of a million grows, the program stops for tens of milliseconds. */
const WHOLE = 131_072
/** How many slots there is room for at first. */
const LEAST = 16
/** How many slots a new key looks at for one whose state has become the same as none. */
const SWEPT = 2
/** How long a state is kept that time has emptied: its key may soon be back, or the clock may step back. */
const GRACE: Micros = 60e6
/** Among how many slots, when all are taken, the one is chosen that is forgotten. */
const CANDIDATES = 8

/**
 * The states of one policy: up to `most` keys, each in a numbered slot.
 *
 * A bucket's state is one number, the very moment from which on it is the same as none, in an array of numbers. Other
 * states are objects, kept beside that moment. There are no timers: each new key clears away one or two states that time
 * has emptied. When there is no room, the one of a few is forgotten that would have been empty soonest, so that a key
 * that is being limited outlives those that are not, and nobody is let off by a flood of fresh keys.
 */
export class Shelf {
  readonly #slots: Slots
  readonly #most: number
  // Not as long as the moments: they grow at different times, so that the program stops for half as long.
  readonly #keys: (string | undefined)[] = new Array(LEAST)
  readonly #others: (State | undefined)[] = []
  readonly #free: number[] = []
  #moments = new Float64Array(1.5 * LEAST)
  /** How many slots there are; the lists are longer. */
  #length = 0
  #hand = 0
  /** How many states have been forgotten that time had not yet emptied. */
  forgotten = 0

  constructor(most: number) {
    this.#most = most
    this.#slots = most <= WHOLE ? new Map() : new ManySlots(this.#keys)
  }

  /** The slot of a key; -1 if it has none. */
  find(key: string): number {
    const slot = this.#slots.get(key)
    return slot === undefined ? -1 : slot
  }

  state(slot: number): State | undefined {
    return slot < 0 ? undefined : (this.#others[slot] ?? (this.#moments[slot] as number))
  }

  /** The number that is the state in a slot; NaN where it is another kernel's, or there is no slot. */
  moment(slot: number): Micros {
    if (slot < 0 || (this.#others.length > 0 && this.#others[slot] !== undefined)) return Number.NaN
    return this.#moments[slot] as number
  }

  /** Writes a number over another. */
  move(slot: number, moment: Micros): void {
    this.#moments[slot] = moment
  }

  /** Keeps a state for a key that has none; `emptyAt` is the moment at which it is the same as none. */
  add(key: string, state: State, emptyAt: Micros, now: Micros): void {
    this.#sweep(now)
    const slot = this.#free.pop() ?? (this.#length < this.#most ? this.#grow() : this.#evict(now))
    this.#keys[slot] = key
    this.#slots.set(key, slot)
    this.write(slot, state, emptyAt)
  }

  write(slot: number, state: State, emptyAt: Micros): void {
    if (typeof state === 'number') {
      this.#moments[slot] = state
      if (this.#others.length > 0) this.#others[slot] = undefined
    } else {
      this.#moments[slot] = emptyAt
      this.#others[slot] = state
    }
  }

  delete(key: string): void {
    const slot = this.find(key)
    if (slot >= 0) this.#clear(slot)
  }

  get size(): number {
    return this.#length - this.#free.length
  }

  #grow(): number {
    if (this.#length === this.#keys.length) this.#keys.length = this.#larger()
    if (this.#length === this.#moments.length) {
      const moments = new Float64Array(this.#larger())
      moments.set(this.#moments)
      this.#moments = moments
    }
    return this.#length++
  }

  /** Twice as much, but no more than there is ever need for. */
  #larger(): number {
    return Math.min(this.#length * 2, Math.max(this.#most, LEAST))
  }

  #sweep(now: Micros): void {
    for (let i = 0; i < SWEPT && i < this.#length; i++) {
      const slot = this.#next()
      if (this.#keys[slot] !== undefined && this.#emptyAt(slot) + GRACE <= now) this.#clear(slot)
    }
  }

  #evict(now: Micros): number {
    let chosen = this.#next()
    for (let i = 1; i < CANDIDATES; i++) {
      const slot = this.#next()
      if (this.#emptyAt(slot) < this.#emptyAt(chosen)) chosen = slot
    }
    if (this.#emptyAt(chosen) > now) this.forgotten++
    this.#clear(chosen)
    return this.#free.pop() as number
  }

  #clear(slot: number): void {
    const key = this.#keys[slot] as string
    this.#slots.delete(key)
    this.#keys[slot] = undefined
    if (this.#others.length > 0) this.#others[slot] = undefined
    this.#free.push(slot)
  }

  #next(): number {
    this.#hand = this.#hand + 1 < this.#length ? this.#hand + 1 : 0
    return this.#hand
  }

  #emptyAt(slot: number): Micros {
    return Math.abs(this.#moments[slot] as number)
  }
}
