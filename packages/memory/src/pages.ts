/** How many slots share a page: a power of two. Growing never copies more than a page, so that no pause is long. */
export const PAGE: number = 1 << 14
export const PAGE_BITS: number = /* @__PURE__ */ Math.log2(PAGE)
/** The bits of a slot that are its place in its page. */
export const PLACE: number = PAGE - 1
/** The initial capacity, in slots. */
const LEAST = 16

type Numbers = Float32Array | Float64Array

/** Doubles the first page until it is whole, and then adds whole pages. `size` is how many numbers a slot has. */
export function addPage<T extends Numbers>(pages: T[], size: number, make: (length: number) => T): void {
  const [first] = pages
  const isWhole = first !== undefined && first.length === size * PAGE
  const page = make(isWhole ? size * PAGE : first === undefined ? size * LEAST : 2 * first.length)
  if (first !== undefined && !isWhole) page.set(first)
  pages[isWhole ? pages.length : 0] = page
}

/** A number for each slot, 0 at first, outside of the heap. */
export class Pages {
  readonly #pages: Numbers[] = []
  readonly #make: (length: number) => Numbers

  constructor(make: (length: number) => Numbers) {
    this.#make = make
  }

  get(slot: number): number {
    const page = this.#pages[slot >>> PAGE_BITS]
    const place = slot & PLACE
    // Engines would box a number that may be undefined.
    return page === undefined || place >= page.length ? 0 : (page[place] as number)
  }

  set(slot: number, value: number): void {
    const place = slot & PLACE
    const page = slot >>> PAGE_BITS
    while (place >= (this.#pages[page]?.length ?? 0)) addPage(this.#pages, 1, this.#make)
    ;(this.#pages[page] as Numbers)[place] = value
  }
}
