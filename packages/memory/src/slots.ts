import type { Micros } from '@spillway/core'
import { digester, hasKnownIndexHashes } from '@spillway/core/internal'

/** Numbered slots, each with a key and a timestamp. New slots are used in ascending order. */
export interface Slots {
  /** The slot of a key; -1 if it has none. */
  find(key: string): number
  /** Assigns a slot to a key that has none. */
  set(key: string, slot: number): void
  /** Whether a key has this slot. */
  isTaken(slot: number): boolean
  /** Removes the key of a slot. */
  clear(slot: number): void
  moment(slot: number): Micros
  move(slot: number, moment: Micros): void
}

/** The initial capacity, in slots. */
const LEAST = 16
/** The maximum length of a stored key, in characters. A longer key is stored as its digest, to bound memory per key. */
const LONGEST = 256

/** Slots in a Map: the fastest way up to some 100,000 keys, because the engine has cached the hashes of strings. */
export class MapSlots implements Slots {
  readonly #slots = new Map<string, number>()
  readonly #keys: (string | undefined)[] = []
  #moments = new Float64Array(LEAST)
  #digest: ((key: string) => string) | undefined
  readonly #marksIndexes = hasKnownIndexHashes()

  find(key: string): number {
    const slot = this.#slots.get(this.#isStoredAsIs(key) ? key : this.#nameOf(key))
    return slot === undefined ? -1 : slot
  }

  set(key: string, slot: number): void {
    const name = copyOf(this.#isStoredAsIs(key) ? key : this.#nameOf(key))
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

  #isStoredAsIs(key: string): boolean {
    return key.length <= LONGEST && !(this.#marksIndexes && needsMark(key))
  }

  /** The stored name of a key that is not stored as it is. */
  #nameOf(key: string): string {
    if (key.length <= LONGEST) return MARK + key
    this.#digest ??= digester()
    return this.#digest(key)
  }

  #grow(): void {
    const moments = new Float64Array(2 * this.#moments.length)
    moments.set(this.#moments)
    this.#moments = moments
  }
}

/** The prefix of a stored key whose hash would be predictable, or that starts with this prefix itself. */
const MARK = '#'
const [MARK_CODE, ZERO, NINE] = [MARK, '0', '9'].map((text) => text.charCodeAt(0)) as [number, number, number]
/** The most digits of an array index. */
const MOST_DIGITS = 10

/** Reports whether a key could be an array index, or starts with the prefix of one. */
function needsMark(key: string): boolean {
  const { length } = key
  if (length > MOST_DIGITS) return key.charCodeAt(0) === MARK_CODE
  for (let i = 0; i < length; i++) {
    const code = key.charCodeAt(i)
    if (code < ZERO || code > NINE) return i === 0 && code === MARK_CODE
  }
  return true
}

/** V8 copies substrings of up to this many characters. A longer one refers to its source. */
const COPIED = 12

/** Copies a string: a substring of a header would keep the whole header in memory. */
const copyOf = (key: string): string => (key.length > COPIED ? ` ${key}`.slice(1) : key)
