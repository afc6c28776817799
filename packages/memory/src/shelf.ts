import { emptyAt, type Micros, type State, type Step } from '@spillway/core'
import { ManySlots } from './many-slots.ts'
import { refillTime, unitTime } from './refill.ts'
import { FewSlots, type Slots } from './slots.ts'

/** The most keys that one Map holds: when one of a million grows, the program stops for tens of milliseconds. */
const WHOLE = 131_072
/** How many slots a new key looks at for one whose state has become the same as none. */
const SWEPT = 2
/** How long a state is kept that time has emptied: its key may soon be back, or the clock may step back. */
const GRACE: Micros = 60e6
/** Among how many slots, when all are taken, the one is chosen that is evicted. */
const CANDIDATES = 8
/** How many slots are looked at for one that is to be evicted while all of them have used more than the new key. */
const MOST_CANDIDATES = 64

// Not every runtime has it.
declare const process: { versions?: { node?: string } } | undefined

/**
 * Whether anybody can choose texts whose hashes agree in this runtime's Map: in Bun, which hashes without a secret, and
 * in Node 24.0.0 to 24.4.0, whose secret a text can cancel (CVE-2025-27209).
 */
function hasKnownHashes(): boolean {
  const node = typeof process === 'undefined' ? undefined : process.versions?.node
  return 'Bun' in globalThis || /^24\.([0-3]\.|4\.0$)/.test(node ?? '')
}

/**
 * The states of one policy: up to `most` keys, each in a numbered slot.
 *
 * A bucket's state is one number, the very moment from which on it is the same as none, in an array of numbers. Other
 * states are objects, kept beside that moment. There are no timers: each new key clears away one or two states that time
 * has emptied. When there is no room, the key of a few is evicted that has used the least, so that a key that is being
 * limited outlives those that are not, and no flood of fresh keys frees it.
 */
export class Shelf {
  /** For the straight way, which needs no more: the moment of a slot is the state, or below zero where it may not be. */
  readonly slots: Slots
  readonly #most: number
  readonly #others: (State | undefined)[] = []
  /** The unit times of those other states. */
  readonly #units: Micros[] = []
  readonly #free: number[] = []
  /** How many slots there are. */
  #length = 0
  #hand = 0
  /** How many states have been forgotten that time had not yet emptied. */
  forgotten = 0

  constructor(most: number) {
    this.#most = most
    this.slots = most <= WHOLE && !hasKnownHashes() ? new FewSlots() : new ManySlots()
  }

  /** The slot of a key; -1 if it has none. */
  find(key: string): number {
    return this.slots.find(key)
  }

  state(slot: number): State | undefined {
    return slot < 0 ? undefined : (this.#others[slot] ?? this.slots.moment(slot))
  }

  /** Keeps a state, written by `step`, for a key that has none. */
  add(key: string, state: State, step: Step, now: Micros): void {
    this.#sweep(now)
    const slot = this.#free.pop() ?? (this.#length < this.#most ? this.#length++ : this.#evict(state, step, now))
    this.slots.set(key, slot)
    this.write(slot, state, step)
  }

  write(slot: number, state: State, step: Step): void {
    if (typeof state === 'number') {
      this.slots.move(slot, state)
      if (this.#others.length > 0) this.#others[slot] = undefined
    } else {
      // Below zero also where that is 0: a log with nothing left in it.
      this.slots.move(slot, Math.min(-emptyAt(state, step), -1))
      this.#others[slot] = state
      this.#units[slot] = unitTime(step)
    }
  }

  delete(key: string): void {
    const slot = this.find(key)
    if (slot >= 0) this.#clear(slot)
  }

  get size(): number {
    return this.#length - this.#free.length
  }

  #sweep(now: Micros): void {
    for (let i = 0; i < SWEPT && i < this.#length; i++) {
      const slot = this.#next()
      if (this.slots.isTaken(slot) && this.#emptyAt(slot) + GRACE <= now) this.#clear(slot)
    }
  }

  /**
   * Evicts the key that has used the least among a few neighbours; if all of those have used more than the new key, among
   * others drawn by lot, too: however the slots of limited keys lie, and whoever has put them there.
   */
  #evict(state: State, step: Step, now: Micros): number {
    let chosen = this.#next()
    let least = this.#refillTime(chosen, now)
    const enough = refillTime(state, emptyAt(state, step), unitTime(step), now)
    for (let i = 1; i < CANDIDATES || (i < MOST_CANDIDATES && least > enough); i++) {
      const slot = i < CANDIDATES ? this.#next() : Math.floor(Math.random() * this.#length)
      const time = this.#refillTime(slot, now)
      if (time >= least) continue
      chosen = slot
      least = time
    }
    if (this.#emptyAt(chosen) > now) this.forgotten++
    this.#clear(chosen)
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
    return refillTime(this.#others[slot] ?? at, at, this.#units[slot] ?? 1, now)
  }
}
