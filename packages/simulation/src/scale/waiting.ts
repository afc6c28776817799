import type { Traffic } from './traffic.ts'

/** The requests of each pair that wait for an answer, as linked lists in two arrays. */
export class Waiting {
  readonly #last: Uint32Array
  readonly #before: Uint32Array
  readonly #count: Uint32Array

  constructor({ times, pairKey }: Traffic) {
    this.#last = new Uint32Array(pairKey.length)
    this.#before = new Uint32Array(times.length)
    this.#count = new Uint32Array(pairKey.length)
  }

  count(pair: number): number {
    return this.#count[pair] as number
  }

  add(pair: number, request: number): void {
    this.#before[request] = this.#last[pair] as number
    this.#last[pair] = request + 1
    this.#count[pair] = this.count(pair) + 1
  }

  /** Removes one; undefined if none waits. */
  remove(pair: number): number | undefined {
    const request = (this.#last[pair] as number) - 1
    if (request < 0) return undefined
    this.#last[pair] = this.#before[request] as number
    this.#count[pair] = this.count(pair) - 1
    return request
  }
}
