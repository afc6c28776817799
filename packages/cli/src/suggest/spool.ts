import type { Micros } from '@spillway/core'
import { KeyNumbers } from '../replay/key-numbers.ts'

/** The number of requests in memory before they are written to the overflow. */
const ROOM = 1 << 20
/** The first size of the array, which grows up to `ROOM`. */
const FIRST_ROOM = 1 << 10

/** Where the numbers are kept that do not fit into memory. */
export interface Overflow {
  append(values: Float64Array): void
  /** The number of values that were read into `chunk`, from the value at `from` on. */
  read(chunk: Float64Array, from: number): number
  close(): void
}

/** The times and the keys of a log's requests, to be read repeatedly: in memory, or beyond `room` requests in an overflow. */
export class Spool {
  /** Time, number of the key, time, number of the key, … */
  #recent: Float64Array
  readonly #room: number
  readonly #open: (() => Overflow) | undefined
  #used = 0
  #overflow: Overflow | undefined
  #overflowed = 0
  readonly #numbers = new KeyNumbers()
  /** The keys, by their numbers. */
  readonly keys: readonly string[] = this.#numbers.texts
  /** The requests of each key, by its number. */
  readonly totals: number[] = []

  constructor(overflow?: () => Overflow, room: number = ROOM) {
    this.#open = overflow
    this.#room = overflow ? 2 * room : Infinity
    this.#recent = new Float64Array(2 * Math.min(room, FIRST_ROOM))
  }

  add(key: string, at: Micros): void {
    let number = this.#numbers.find(key)
    if (number < 0) {
      number = this.#numbers.add(key)
      this.totals.push(0)
    }
    this.totals[number] = (this.totals[number] as number) + 1
    if (this.#used === this.#recent.length) this.#makeRoom()
    this.#recent[this.#used++] = at
    this.#recent[this.#used++] = number
  }

  /** The number of requests. */
  get size(): number {
    return (this.#overflowed + this.#used) / 2
  }

  /** Calls back with each request in order, until the callback returns false. */
  each(visit: (at: Micros, key: number) => boolean): void {
    const chunk = new Float64Array(this.#overflowed === 0 ? 0 : 1 << 16)
    for (let done = 0; this.#overflow && done < this.#overflowed; ) {
      const read = this.#overflow.read(chunk.subarray(0, this.#overflowed - done), done)
      if (!visitAll(chunk, read, visit)) return
      done += read
    }
    visitAll(this.#recent, this.#used, visit)
  }

  /** Deletes the overflow. */
  close(): void {
    this.#overflow?.close()
    this.#overflow = undefined
  }

  #makeRoom(): void {
    if (this.#open && this.#recent.length >= this.#room) {
      this.#overflow ??= this.#open()
      this.#overflow.append(this.#recent)
      this.#overflowed += this.#used
      this.#used = 0
      return
    }
    const larger = new Float64Array(Math.min(2 * this.#recent.length, this.#room))
    larger.set(this.#recent)
    this.#recent = larger
  }
}

function visitAll(values: Float64Array, length: number, visit: (at: Micros, key: number) => boolean): boolean {
  for (let i = 0; i < length; i += 2) if (!visit(values[i] as number, values[i + 1] as number)) return false
  return true
}
