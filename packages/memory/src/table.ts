/** The initial capacity of a table, in slots: a power of two. */
const LEAST = 16
/** The maximum load factor. */
const FULL = 3 / 4

/** A hash table with linear probing, from fingerprints to slots. One fingerprint may have several slots. */
export class Table {
  // Pairs of a fingerprint and a slot plus one; zero marks a free entry.
  #pairs = new Int32Array(2 * LEAST)
  #size = 0
  readonly #skipped: number

  /** `skipped` is the number of upper bits that all fingerprints of this table share. */
  constructor(skipped: number) {
    this.#skipped = skipped
  }

  /** The index of the first entry of a fingerprint; -1 if there is none. */
  first(fingerprint: number): number {
    return this.#from(this.#home(fingerprint), fingerprint)
  }

  /** The index of the next entry of a fingerprint after `at`; -1 if there is none. */
  next(at: number, fingerprint: number): number {
    return this.#from((at + 2) & (this.#pairs.length - 1), fingerprint)
  }

  slotAt(at: number): number {
    return (this.#pairs[at + 1] as number) - 1
  }

  add(fingerprint: number, slot: number): void {
    if (2 * this.#size >= this.#pairs.length * FULL) this.#grow()
    this.#size++
    this.#put(fingerprint, slot + 1)
  }

  /** Removes an entry, and shifts later entries of the same probe sequence back. */
  remove(fingerprint: number, slot: number): void {
    let free = this.first(fingerprint)
    while (this.slotAt(free) !== slot) free = this.next(free, fingerprint)
    this.#size--
    const pairs = this.#pairs
    const last = pairs.length - 1
    for (let next = (free + 2) & last; pairs[next + 1] !== 0; next = (next + 2) & last) {
      const home = this.#home(pairs[next] as number)
      if (((next - home) & last) < ((next - free) & last)) continue
      pairs[free] = pairs[next] as number
      pairs[free + 1] = pairs[next + 1] as number
      free = next
    }
    pairs[free + 1] = 0
  }

  #from(start: number, fingerprint: number): number {
    const pairs = this.#pairs
    const last = pairs.length - 1
    for (let at = start; pairs[at + 1] !== 0; at = (at + 2) & last) if (pairs[at] === fingerprint) return at
    return -1
  }

  /** The preferred index of a fingerprint, from its uppermost bits that differ. */
  #home(fingerprint: number): number {
    return ((fingerprint << this.#skipped) >>> (Math.clz32(this.#pairs.length - 1) + 1)) << 1
  }

  #put(fingerprint: number, slotPlusOne: number): void {
    const pairs = this.#pairs
    let at = this.#home(fingerprint)
    while (pairs[at + 1] !== 0) at = (at + 2) & (pairs.length - 1)
    pairs[at] = fingerprint
    pairs[at + 1] = slotPlusOne
  }

  #grow(): void {
    const pairs = this.#pairs
    this.#pairs = new Int32Array(2 * pairs.length)
    for (let at = 0; at < pairs.length; at += 2) {
      if (pairs[at + 1] !== 0) this.#put(pairs[at] as number, pairs[at + 1] as number)
    }
  }
}
