import type { Micros } from '@spillway/core'
import { Hashes } from './hashes.ts'

/** Numbered slots, each with a key and a moment. Slots are taken in order the first time. */
export interface Slots {
  /** The slot of a key; -1 if it has none. */
  find(key: string): number
  /** Gives a slot to a key that has none. */
  set(key: string, slot: number): void
  /** Whether a key has this slot. */
  isTaken(slot: number): boolean
  /** Takes the slot from the key that has it. */
  clear(slot: number): void
  moment(slot: number): Micros
  move(slot: number, moment: Micros): void
}

/** How many slots there is room for at first. */
const LEAST = 16
/** The most characters of a key that are kept: what is longer is known by its digest, so that no key takes much. */
const LONGEST = 256

/** Slots by a Map: the best way up to some 100,000 keys, because the engine has worked out their hashes before. */
export class FewSlots implements Slots {
  readonly #slots = new Map<string, number>()
  readonly #keys: (string | undefined)[] = []
  #moments = new Float64Array(LEAST)
  #hashes: Hashes | undefined

  find(key: string): number {
    const slot = this.#slots.get(key.length > LONGEST ? this.#digest(key) : key)
    return slot === undefined ? -1 : slot
  }

  set(key: string, slot: number): void {
    const name = key.length > LONGEST ? this.#digest(key) : copyOf(key)
    this.#keys[slot] = name
    this.#slots.set(name, slot)
    if (slot === this.#moments.length) this.#grow()
  }

  isTaken(slot: number): boolean {
    return this.#keys[slot] !== undefined
  }

  clear(slot: number): void {
    this.#slots.delete(this.#keys[slot] as string)
    this.#keys[slot] = undefined
  }

  moment(slot: number): Micros {
    return this.#moments[slot] as Micros
  }

  move(slot: number, moment: Micros): void {
    this.#moments[slot] = moment
  }

  #digest(key: string): string {
    this.#hashes ??= new Hashes()
    return this.#hashes.digest(key)
  }

  #grow(): void {
    const moments = new Float64Array(2 * this.#moments.length)
    moments.set(this.#moments)
    this.#moments = moments
  }
}

/** How many characters V8 copies rather than refer to a longer text. */
const COPIED = 12

/** The same text by itself: what was cut out of a header would keep all of the header in memory. */
const copyOf = (key: string): string => (key.length > COPIED ? ` ${key}`.slice(1) : key)
