import { copyOf } from '../log/copy.ts'

/** The longest key that is packed into numbers, four characters to each. */
const LONGEST = 44
/** The numbers per packed key. The first one is its length. */
const WORDS = LONGEST / 4 + 1
/** The length of a key that is not packed. */
const UNPACKED = -1
/** The initial capacity, in keys: a power of two. */
const LEAST = 1 << 10
const LATIN1 = 0xff

/**
 * Numbers keys from 0 on, in the order of their first occurrence. Keys are parts of lines: a Map calls into the engine to hash
 * each of them, and to compare it with one that it has. Here, a key is hashed and packed in one pass, and compared in an array.
 */
export class KeyNumbers {
  /** The keys by their numbers. Each is a copy, because a part of a line would keep the whole line in memory. */
  readonly texts: string[] = []
  #packed = new Int32Array(WORDS * LEAST)
  /** Pairs of a hash and a number plus one, with linear probing; zero marks a free entry. */
  #table = new Int32Array(4 * LEAST)
  /** The last key that was read, packed, and its hash. */
  readonly #last = new Int32Array(WORDS)
  #hash = 0
  // Clients choose keys, and must not be able to choose many that collide.
  readonly #seed = random()
  readonly #factor = random() | 1

  /** The number of a key; -1 if it has none. */
  find(key: string): number {
    this.#read(key)
    const table = this.#table
    const hash = this.#hash
    for (let at = homeIn(table, hash); table[at + 1] !== 0; at = (at + 2) & (table.length - 1)) {
      const number = (table[at + 1] as number) - 1
      if (table[at] === hash && this.#is(number, key)) return number
    }
    return -1
  }

  /** Gives a number to a key that has none. */
  add(key: string): number {
    const number = this.texts.length
    if (WORDS * number === this.#packed.length) this.#grow()
    this.#read(key)
    this.texts.push(copyOf(key))
    this.#packed.set(this.#last, WORDS * number)
    put(this.#table, this.#hash, number + 1)
    return number
  }

  /** Hashes and packs a key. */
  #read(key: string): void {
    const { length } = key
    const last = this.#last
    const factor = this.#factor
    let hash = this.#seed
    let seen = 0
    let word = 0
    for (let i = 0; i < length; i++) {
      const code = key.charCodeAt(i)
      hash = Math.imul(hash ^ code, factor)
      seen |= code
      word |= code << (8 * i)
      if ((i & 3) < 3) continue
      if (i < LONGEST) last[(i >> 2) + 1] = word
      word = 0
    }
    if (length < LONGEST) last[(length >> 2) + 1] = word
    last[0] = length > LONGEST || seen > LATIN1 ? UNPACKED : length
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
    this.#hash = hash ^ (hash >>> 13)
  }

  /** Whether a number is that of the last key that was read. */
  #is(number: number, key: string): boolean {
    const packed = this.#packed
    const last = this.#last
    const start = WORDS * number
    const length = last[0] as number
    if (packed[start] !== length) return false
    if (length === UNPACKED) return this.texts[number] === key
    for (let i = 1; 4 * (i - 1) < length; i++) if (packed[start + i] !== last[i]) return false
    return true
  }

  #grow(): void {
    const packed = new Int32Array(2 * this.#packed.length)
    packed.set(this.#packed)
    this.#packed = packed
    const [old, table] = [this.#table, new Int32Array(2 * this.#table.length)]
    for (let at = 0; at < old.length; at += 2) {
      if (old[at + 1] !== 0) put(table, old[at] as number, old[at + 1] as number)
    }
    this.#table = table
  }
}

const random = (): number => (Math.random() * 2 ** 32) | 0

const homeIn = (table: Int32Array, hash: number): number => (hash << 1) & (table.length - 1)

function put(table: Int32Array, hash: number, numberPlusOne: number): void {
  let at = homeIn(table, hash)
  while (table[at + 1] !== 0) at = (at + 2) & (table.length - 1)
  table[at] = hash
  table[at + 1] = numberPlusOne
}
