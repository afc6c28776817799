import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Micros } from '@spillway/core'

/** The number of requests in memory before they are written to a file. */
const ROOM = 1 << 20
/** The first size of the array, which grows up to `ROOM`. */
const FIRST_ROOM = 1 << 10

/**
 * The times and the keys of a log's requests, to be read repeatedly: in memory while they fit, then in a temporary
 * file.
 */
export class Spool {
  /** Time, number of the key, time, number of the key, … */
  #recent: Float64Array
  readonly #room: number
  #used = 0
  #file: { readonly folder: string; readonly descriptor: number } | undefined
  #filed = 0
  readonly #keys = new Map<string, number>()
  /** The requests of each key, by its number. */
  readonly totals: number[] = []

  constructor(room: number = ROOM) {
    this.#room = 2 * room
    this.#recent = new Float64Array(2 * Math.min(room, FIRST_ROOM))
  }

  add(key: string, at: Micros): void {
    let number = this.#keys.get(key)
    if (number === undefined) {
      number = this.totals.length
      this.#keys.set(Buffer.from(key).toString(), number)
      this.totals.push(0)
    }
    this.totals[number] = (this.totals[number] as number) + 1
    if (this.#used === this.#recent.length) this.#makeRoom()
    this.#recent[this.#used++] = at
    this.#recent[this.#used++] = number
  }

  /** The number of requests. */
  get size(): number {
    return (this.#filed + this.#used) / 2
  }

  /** Calls back with each request in order, until the callback returns false. */
  each(visit: (at: Micros, key: number) => boolean): void {
    const chunk = new Float64Array(this.#filed === 0 ? 0 : 1 << 16)
    for (let done = 0; done < this.#filed; ) {
      const { descriptor } = this.#file as { descriptor: number }
      const bytes = readSync(descriptor, chunk, 0, Math.min(chunk.byteLength, (this.#filed - done) * 8), done * 8)
      if (!visitAll(chunk, bytes / 8, visit)) return
      done += bytes / 8
    }
    visitAll(this.#recent, this.#used, visit)
  }

  /** Deletes the temporary file. */
  close(): void {
    if (!this.#file) return
    closeSync(this.#file.descriptor)
    rmSync(this.#file.folder, { recursive: true })
    this.#file = undefined
  }

  #makeRoom(): void {
    if (this.#recent.length >= this.#room) {
      this.#flush()
      return
    }
    const larger = new Float64Array(Math.min(2 * this.#recent.length, this.#room))
    larger.set(this.#recent)
    this.#recent = larger
  }

  #flush(): void {
    if (!this.#file) {
      const folder = mkdtempSync(join(tmpdir(), 'spillway-suggest-'))
      this.#file = { folder, descriptor: openSync(join(folder, 'requests'), 'w+') }
    }
    writeSync(this.#file.descriptor, this.#recent, 0, this.#used * 8, this.#filed * 8)
    this.#filed += this.#used
    this.#used = 0
  }
}

function visitAll(values: Float64Array, length: number, visit: (at: Micros, key: number) => boolean): boolean {
  for (let i = 0; i < length; i += 2) if (!visit(values[i] as number, values[i + 1] as number)) return false
  return true
}
