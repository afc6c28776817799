import type { State } from '@spillway/core'
import type { Log } from '@spillway/core/internal'
import { PAGE_BITS, PLACE } from './pages.ts'

/** A state that is not numbers in arrays. */
export type Other = Log | Exclude<State, number | readonly number[]>

/** The states of slots that are not numbers in arrays, in pages: one list of a million would be copied as it grows. */
export class Others {
  readonly #pages: (Other | undefined)[][] = []

  get(slot: number): Other | undefined {
    return this.#pages[slot >>> PAGE_BITS]?.[slot & PLACE]
  }

  set(slot: number, state: Other): void {
    const page = slot >>> PAGE_BITS
    while (page >= this.#pages.length) this.#pages.push([])
    ;(this.#pages[page] as (Other | undefined)[])[slot & PLACE] = state
  }

  delete(slot: number): void {
    const page = this.#pages[slot >>> PAGE_BITS]
    if (page !== undefined) page[slot & PLACE] = undefined
  }
}
