import type { Micros } from '@spillway/core'
import { hasKnownHashes, hasKnownIndexHashes } from '@spillway/core/internal'

/** The key of a slot, as it is stored. */
export interface StoredKey {
  readonly key: string
  /** Whether it is a digest, as hexadecimal text, of a key that is too long to be stored. */
  readonly isDigest: boolean
}

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

/** Slots whose keys can be listed. */
export interface ListedSlots extends Slots {
  /** The key of a slot that is taken. */
  keyOf(slot: number): StoredKey
}

/** The initial capacity, in slots. */
const LEAST = 16
/** The maximum length of a stored key, in characters. A longer key is stored as its digest, to bound memory per key. */
const LONGEST = 256

/** Slots in a Map: the fastest way up to some 100,000 keys, because the engine has cached the hashes of strings. */
export class MapSlots implements Slots {
  readonly #slots = new Map<string, number>()
  /** The stored keys. */
  protected readonly names: (string | undefined)[] = []
  /** The slots whose key is a digest. */
  protected readonly digested: Set<number> = new Set()
  #moments = new Float64Array(LEAST)
  readonly #newDigest: () => (key: string) => string
  #digest: ((key: string) => string) | undefined
  protected readonly marksIndexes: boolean = hasKnownIndexHashes()
  /** The longest key that is stored as it is: none, where clients can choose keys that collide. */
  readonly #longest = hasKnownHashes() ? -1 : LONGEST

  /** `newDigest` makes the function that digests long keys. */
  constructor(newDigest: () => (key: string) => string) {
    this.#newDigest = newDigest
  }

  find(key: string): number {
    return this.#slots.get(key.length > this.#longest || this.marksIndexes ? this.#nameOf(key) : key) ?? -1
  }

  set(key: string, slot: number): void {
    const name = copyOf(this.#nameOf(key))
    this.names[slot] = name
    this.#slots.set(name, slot)
    if (key.length > LONGEST) this.digested.add(slot)
    if (slot === this.#moments.length) this.#grow()
  }

  isTaken(slot: number): boolean {
    return this.names[slot] !== undefined
  }

  clear(slot: number): void {
    this.#slots.delete(this.names[slot] as string)
    if (this.digested.size > 0) this.digested.delete(slot)
    this.names[slot] = undefined
  }

  moment(slot: number): Micros {
    return this.#moments[slot] as Micros
  }

  move(slot: number, moment: Micros): void {
    this.#moments[slot] = moment
  }

  /** The name of a key in the Map. */
  #nameOf(key: string): string {
    if (key.length <= this.#longest) return this.marksIndexes && needsMark(key) ? MARK + key : key
    this.#digest ??= this.#newDigest()
    return this.#digest(key)
  }

  #grow(): void {
    const moments = new Float64Array(2 * this.#moments.length)
    moments.set(this.#moments)
    this.#moments = moments
  }
}

/** The same slots, of which the keys can be listed. */
export class ListedMapSlots extends MapSlots implements ListedSlots {
  keyOf(slot: number): StoredKey {
    const name = this.names[slot] as string
    if (this.digested.has(slot)) return { key: hexOf(name), isDigest: true }
    return { key: this.marksIndexes && name.startsWith(MARK) ? name.slice(MARK.length) : name, isDigest: false }
  }
}

/** The prefix of a stored key whose hash would be predictable, or that starts with this prefix itself. */
const MARK = '#'
const MARK_CODE = 0x23
const ZERO = 0x30
const NINE = 0x39
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

/** A digest that can be printed. */
export const hexOf = (digest: string): string =>
  Array.from(digest, (byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('')

/** V8 copies substrings of up to this many characters. A longer one refers to its source. */
const COPIED = 12

/** Copies a string: a substring of a header would keep the whole header in memory. */
const copyOf = (key: string): string => (key.length > COPIED ? ` ${key}`.slice(1) : key)
