import { digester, type Micros } from '@spillway/core'

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
  #digest: ((key: string) => string) | undefined

  find(key: string): number {
    const slot = this.#slots.get(this.#nameOf(key))
    return slot === undefined ? -1 : slot
  }

  set(key: string, slot: number): void {
    const name = copyOf(this.#nameOf(key))
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

  #nameOf(key: string): string {
    if (key.length > LONGEST) {
      this.#digest ??= digester()
      return this.#digest(key)
    }
    return hasKnownHash(key) ? MARK + key : key
  }

  #grow(): void {
    const moments = new Float64Array(2 * this.#moments.length)
    moments.set(this.#moments)
    this.#moments = moments
  }
}

/** What the name of a key begins with whose hash anybody knows, or that begins with this itself. */
const MARK = '#'
const [MARK_CODE, ZERO, NINE] = [MARK, '0', '9'].map((text) => text.charCodeAt(0)) as [number, number, number]
/** The most digits of an array index: V8 before March 2026 makes the hash of one of its value alone (CVE-2026-21717). */
const MOST_DIGITS = 10

/** Whether a key looks like an array index, or like the name of one. */
function hasKnownHash(key: string): boolean {
  if (key.charCodeAt(0) === MARK_CODE) return true
  if (key.length > MOST_DIGITS) return false
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    if (code < ZERO || code > NINE) return false
  }
  return true
}

/** How many characters V8 copies rather than refer to a longer text. */
const COPIED = 12

/** The same text by itself: what was cut out of a header would keep all of the header in memory. */
const copyOf = (key: string): string => (key.length > COPIED ? ` ${key}`.slice(1) : key)
