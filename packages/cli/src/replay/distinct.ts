import { hash32 } from '@spillway/core/internal'

const BITS = 23

/**
 * Estimates the number of distinct strings in 1 MB, by linear counting: each string sets one bit, and the fraction of
 * unset bits gives the number. The error is below 1 % up to about 30 million strings.
 */
export class DistinctCount {
  readonly #bits = new Uint8Array(1 << (BITS - 3))
  #set = 0

  add(text: string): void {
    const bit = hashOf(text) >>> (32 - BITS)
    const [byte, mask] = [bit >> 3, 1 << (bit & 7)]
    const before = this.#bits[byte] as number
    if ((before & mask) !== 0) return
    this.#bits[byte] = before | mask
    this.#set++
  }

  estimate(): number {
    const all = 2 ** BITS
    return Math.round(-all * Math.log1p(-Math.min(this.#set, all - 1) / all))
  }
}

/** Mixed as at the end of MurmurHash3, as only the upper bits are read. */
function hashOf(text: string): number {
  let hash = hash32(text)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
