/** Which slot a key has. A Map is one, and the best up to some 100,000 keys. */
export interface Slots {
  get(key: string): number | undefined
  /** Gives a slot to a key that has none. */
  set(key: string, slot: number): unknown
  delete(key: string): unknown
}

/** How many parts the keys are spread over: a power of two. What grows is one part, and others stay as they are. */
const PARTS = 64
const PART_BITS = Math.log2(PARTS)
/** How many characters of a key are told apart by a secret number each: a power of two. */
const SECRETS = 64
/** How much of a part may be taken. */
const FULL = 3 / 4

// Every runtime has it, though no ECMAScript library declares it.
declare const crypto: { getRandomValues<T>(into: T): T }

/**
 * The slots of millions of keys. A Map of as many takes twice the room, and stops the program for tens of milliseconds
 * whenever it grows; parts of a hash table do that for a fraction of one. `keys` has the key of each slot.
 *
 * Keys come from strangers, who must not be able to choose many that lie in one place: they are hashed by a function
 * that is drawn by lot when the first one comes.
 */
export class ManySlots implements Slots {
  readonly #keys: readonly (string | undefined)[]
  #parts: readonly Part[] | undefined
  readonly #secret = new Int32Array(SECRETS)

  constructor(keys: readonly (string | undefined)[]) {
    this.#keys = keys
  }

  get(key: string): number | undefined {
    const hash = hashOf(key, this.#secret)
    const part = this.#partOf(hash)
    return part?.slotAt(part.find(key, hash, this.#keys))
  }

  set(key: string, slot: number): void {
    if (this.#parts === undefined) this.#begin()
    const hash = hashOf(key, this.#secret)
    this.#partOf(hash)?.add(hash, slot)
  }

  delete(key: string): void {
    const hash = hashOf(key, this.#secret)
    const part = this.#partOf(hash)
    part?.remove(part.find(key, hash, this.#keys))
  }

  // Not before the first key: at the edge, limiters are made where nothing may be drawn by lot.
  #begin(): void {
    crypto.getRandomValues(this.#secret)
    this.#parts = Array.from({ length: PARTS }, () => new Part())
  }

  #partOf(hash: number): Part | undefined {
    return this.#parts?.[hash >>> (32 - PART_BITS)]
  }
}

/**
 * Each character times a secret number of its place (multilinear hashing): whoever does not know the secret cannot make
 * two keys agree but by chance, least of all in the upper bits. What is longer than there are numbers is mixed before
 * they come around again.
 */
export function hashOf(key: string, secret: Int32Array): number {
  let hash = 0
  for (let i = 0; i < key.length; i++) {
    const place = i & (SECRETS - 1)
    if (place === 0) hash = Math.imul(hash ^ (hash >>> 15), (secret[0] as number) | 1)
    hash = (hash + Math.imul(secret[place] as number, key.charCodeAt(i))) | 0
  }
  return hash
}

/** A hash table of its own: pairs of a hash and a slot, each in the first free place from where its hash says. */
class Part {
  // A pair is of the whole hash, and the slot plus one: what is free is zero.
  #pairs = new Int32Array(2 * 16)
  #size = 0

  /** Where the pair of a key is; -1 if there is none. */
  find(key: string, hash: number, keys: readonly (string | undefined)[]): number {
    const pairs = this.#pairs
    const last = pairs.length - 2
    for (let at = placeOf(hash, last); ; at = (at + 2) & last) {
      const slot = pairs[at + 1] as number
      if (slot === 0) return -1
      if (pairs[at] === hash && keys[slot - 1] === key) return at
    }
  }

  slotAt(at: number): number | undefined {
    return at < 0 ? undefined : (this.#pairs[at + 1] as number) - 1
  }

  add(hash: number, slot: number): void {
    if (2 * this.#size >= this.#pairs.length * FULL) this.#grow()
    this.#size++
    put(this.#pairs, hash, slot + 1)
  }

  /** Frees a place, if it is one, and fills it with a pair that had to go farther than it should, and so on. */
  remove(at: number): void {
    if (at < 0) return
    const pairs = this.#pairs
    const last = pairs.length - 2
    this.#size--
    let free = at
    for (let next = (at + 2) & last; pairs[next + 1] !== 0; next = (next + 2) & last) {
      const home = placeOf(pairs[next] as number, last)
      if (((next - home) & last) < ((next - free) & last)) continue
      pairs[free] = pairs[next] as number
      pairs[free + 1] = pairs[next + 1] as number
      free = next
    }
    pairs[free + 1] = 0
  }

  #grow(): void {
    const pairs = this.#pairs
    this.#pairs = new Int32Array(2 * pairs.length)
    for (let at = 0; at < pairs.length; at += 2) {
      if (pairs[at + 1] !== 0) put(this.#pairs, pairs[at] as number, pairs[at + 1] as number)
    }
  }
}

/** Where a hash would have its pair, in a table whose last is at `last`: by the bits below those that name the part. */
const placeOf = (hash: number, last: number): number => ((hash << PART_BITS) >>> (Math.clz32(last) + 1)) << 1

function put(pairs: Int32Array, hash: number, slot: number): void {
  const last = pairs.length - 2
  let at = placeOf(hash, last)
  while (pairs[at + 1] !== 0) at = (at + 2) & last
  pairs[at] = hash
  pairs[at + 1] = slot
}
