import type { Micros } from '@spillway/core'
import { digester } from '@spillway/core/internal'
import { asDigest, Hashes, isDigest, lengthIn, NONE, SHORT } from './hashes.ts'
import { PAGE, PAGE_BITS, PLACE } from './pages.ts'
import { hexOf, type ListedSlots, type StoredKey } from './slots.ts'
import { Table } from './table.ts'

/** The number of hash tables: a power of two. Only one of them grows at a time, so that no pause is long. */
const TABLES = 64
const TABLE_BITS = /* @__PURE__ */ Math.log2(TABLES)
/** A slot holds a timestamp of 8 bytes, a fingerprint of 4, and the packed key. They are adjacent for cache locality. */
const BYTES = 8 + 4 + SHORT
/** The size of a slot and the offsets of its fingerprint and packed key, in 4-byte numbers. */
const SIZE = BYTES / 4
const FINGERPRINT = 2
const PACKED_KEY = 3

/**
 * Slots for millions of keys, outside the heap. A Map of that size needs twice the memory, and blocks the program for
 * tens of milliseconds whenever it grows. A million strings do the same whenever garbage is collected. Keys that are
 * too long or not Latin-1 are stored as digests.
 */
export class PackedSlots implements ListedSlots {
  // Two views of the same pages.
  readonly #moments: Float64Array[] = []
  readonly #ints: Int32Array[] = []
  readonly #tables: Table[] = []
  #hashes: Hashes | undefined
  #digester: ((key: string) => string) | undefined

  find(key: string): number {
    const hashes = this.#hashes
    if (hashes === undefined) return -1
    const fingerprint = this.#fingerprint(hashes, key)
    const table = this.#tableOf(fingerprint)
    for (let at = table.first(fingerprint); at >= 0; at = table.next(at, fingerprint)) {
      const slot = table.slotAt(at)
      if (this.#has(slot, hashes.packedKey, lengthIn(fingerprint))) return slot
    }
    return -1
  }

  set(key: string, slot: number): void {
    // Edge runtimes allow no random numbers at module load, where limiters are made: the seed waits for the first key.
    const hashes = this.#hashes ?? this.#begin()
    const fingerprint = this.#fingerprint(hashes, key)
    if (slot === this.#ints.length * PAGE) this.#grow()
    const ints = this.#intsOf(slot)
    ints[startOf(slot) + FINGERPRINT] = fingerprint
    ints.set(hashes.packedKey, startOf(slot) + PACKED_KEY)
    this.#tableOf(fingerprint).add(fingerprint, slot)
  }

  isTaken(slot: number): boolean {
    return this.#wordOf(slot) !== NONE
  }

  clear(slot: number): void {
    const fingerprint = this.#wordOf(slot)
    this.#tableOf(fingerprint).remove(fingerprint, slot)
    this.#intsOf(slot)[startOf(slot) + FINGERPRINT] = NONE
  }

  keyOf(slot: number): StoredKey {
    const ints = this.#intsOf(slot)
    const start = startOf(slot) + PACKED_KEY
    const byteAt = (i: number): number => ((ints[start + (i >> 2)] as number) >>> (8 * (i & 3))) & 0xff
    const fingerprint = this.#wordOf(slot)
    const codes = Array.from({ length: lengthIn(fingerprint) }, (_, i) => byteAt(i))
    const key = String.fromCharCode(...codes)
    return isDigest(fingerprint) ? { key: hexOf(key), isDigest: true } : { key, isDigest: false }
  }

  moment(slot: number): Micros {
    return (this.#moments[slot >>> PAGE_BITS] as Float64Array)[startOf(slot) >> 1] as Micros
  }

  move(slot: number, moment: Micros): void {
    ;(this.#moments[slot >>> PAGE_BITS] as Float64Array)[startOf(slot) >> 1] = moment
  }

  /** The fingerprint of a key as it is stored, and its packed key in `hashes`. */
  #fingerprint(hashes: Hashes, key: string): number {
    const fingerprint = hashes.fingerprint(key)
    if (fingerprint !== NONE) return fingerprint
    this.#digester ??= digester()
    return asDigest(hashes.fingerprint(this.#digester(key)))
  }

  #begin(): Hashes {
    for (let i = 0; i < TABLES; i++) this.#tables.push(new Table(TABLE_BITS))
    this.#hashes = new Hashes()
    return this.#hashes
  }

  #grow(): void {
    const buffer = new ArrayBuffer(PAGE * BYTES)
    this.#moments.push(new Float64Array(buffer))
    this.#ints.push(new Int32Array(buffer))
  }

  /** Compares the packed key of a slot; fingerprints already match. */
  #has(slot: number, packedKey: Int32Array, length: number): boolean {
    const ints = this.#intsOf(slot)
    const start = startOf(slot) + PACKED_KEY
    for (let i = 0; 4 * i < length; i++) if (ints[start + i] !== packedKey[i]) return false
    return true
  }

  #wordOf(slot: number): number {
    return this.#intsOf(slot)[startOf(slot) + FINGERPRINT] as number
  }

  #intsOf(slot: number): Int32Array {
    return this.#ints[slot >>> PAGE_BITS] as Int32Array
  }

  #tableOf(fingerprint: number): Table {
    return this.#tables[fingerprint >>> (32 - TABLE_BITS)] as Table
  }
}

/** The offset of a slot in its page, in 4-byte numbers. */
const startOf = (slot: number): number => (slot & PLACE) * SIZE
