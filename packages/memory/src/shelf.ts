import type { Micros, State } from '@spillway/core'

/** The most keys that one map holds. One of a million would stop the program for tens of ms whenever it grows. */
const WHOLE = 131_072
/** How many maps share the keys if there may be more: a power of two. */
const PARTS = 64
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
 * states are objects, kept beside that moment. There are no timers: each new key clears away one or two states that time has emptied. When
 * there is no room, the one of a few is forgotten that would have been empty soonest, so that a key that is being
 * limited outlives those that are not, and nobody is let off by a flood of fresh keys.
 */
export class Shelf {
  readonly #whole: Map<string, number> | undefined
  readonly #parts: readonly Map<string, number>[]
  readonly #most: number
  readonly #keys: (string | undefined)[] = []
  readonly #others: (State | undefined)[] = []
  readonly #free: number[] = []
  #moments = new Float64Array(16)
  #hand = 0
  /** How many states have been forgotten that time had not yet emptied. */
  forgotten = 0

  constructor(most: number) {
    this.#most = most
    this.#whole = most <= WHOLE ? new Map() : undefined
    this.#parts = this.#whole ? [] : Array.from({ length: PARTS }, () => new Map())
  }

  /** The slot of a key; -1 if it has none. */
  find(key: string): number {
    const whole = this.#whole
    const slot = whole !== undefined ? whole.get(key) : this.#partOf(key).get(key)
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
    const slot = this.#free.pop() ?? (this.#keys.length < this.#most ? this.#grow() : this.#evict(now))
    this.#keys[slot] = key
    this.#partOf(key).set(key, slot)
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
    return this.#keys.length - this.#free.length
  }

  // Ends of keys differ most: the last digits of addresses and ids. To read more of a key costs more than a better
  // spread gains; a poor one costs time only.
  #partOf(key: string): Map<string, number> {
    if (this.#whole !== undefined) return this.#whole
    const { length } = key
    return this.#parts[(key.charCodeAt(length - 1) + length * 11) & (PARTS - 1)] as Map<string, number>
  }

  #grow(): number {
    const slot = this.#keys.length
    if (slot === this.#moments.length) {
      const larger = new Float64Array(Math.min(slot * 2, Math.max(this.#most, 16)))
      larger.set(this.#moments)
      this.#moments = larger
    }
    this.#keys.push(undefined)
    return slot
  }

  #sweep(now: Micros): void {
    for (let i = 0; i < SWEPT && i < this.#keys.length; i++) {
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
    this.#partOf(key).delete(key)
    this.#keys[slot] = undefined
    if (this.#others.length > 0) this.#others[slot] = undefined
    this.#free.push(slot)
  }

  #next(): number {
    this.#hand = this.#hand + 1 < this.#keys.length ? this.#hand + 1 : 0
    return this.#hand
  }

  #emptyAt(slot: number): Micros {
    return Math.abs(this.#moments[slot] as number)
  }
}
