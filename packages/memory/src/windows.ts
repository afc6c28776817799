import type { Micros, SlidingWindowState } from '@spillway/core'
import { addPage, PAGE_BITS, PLACE } from './pages.ts'

/** The windows of slots, outside the heap: a million objects would block the program at each garbage collection. */
export class Windows {
  // Two views of the same pages, with 16 bytes a window: its start of 8, and two counts of 4.
  readonly #starts: Float64Array[] = []
  readonly #counts: Uint32Array[] = []

  start(slot: number): Micros {
    return (this.#starts[slot >>> PAGE_BITS] as Float64Array)[(slot & PLACE) << 1] as Micros
  }

  current(slot: number): number {
    return (this.#counts[slot >>> PAGE_BITS] as Uint32Array)[((slot & PLACE) << 2) + 2] as number
  }

  previous(slot: number): number {
    return (this.#counts[slot >>> PAGE_BITS] as Uint32Array)[((slot & PLACE) << 2) + 3] as number
  }

  set(slot: number, start: Micros, current: number, previous: number): void {
    const page = slot >>> PAGE_BITS
    const place = slot & PLACE
    while (2 * place >= (this.#starts[page]?.length ?? 0)) this.#grow()
    ;(this.#starts[page] as Float64Array)[place << 1] = start
    const counts = this.#counts[page] as Uint32Array
    counts[(place << 2) + 2] = current
    counts[(place << 2) + 3] = previous
  }

  setCurrent(slot: number, current: number): void {
    ;(this.#counts[slot >>> PAGE_BITS] as Uint32Array)[((slot & PLACE) << 2) + 2] = current
  }

  stateOf(slot: number): SlidingWindowState {
    return { start: this.start(slot), current: this.current(slot), previous: this.previous(slot) }
  }

  #grow(): void {
    addPage(this.#starts, 2, (length) => new Float64Array(length))
    const page = this.#starts.length - 1
    this.#counts[page] = new Uint32Array((this.#starts[page] as Float64Array).buffer)
  }
}
