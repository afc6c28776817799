/** A number for each slot, 0 at first. */
export interface Numbers {
  get(slot: number): number
  set(slot: number, value: number): void
}

/**
 * How much earlier than its timestamp the bucket of each slot is full again, in parts of a microsecond. All slots use one
 * scale: that of the first quota that needs it. A policy whose units refill in whole microseconds stores nothing here.
 */
export class Earlies {
  /** How many parts a microsecond has; 1 if nothing is stored. */
  scale = 1
  readonly #parts: Numbers

  constructor(parts: Numbers) {
    this.#parts = parts
  }

  /** Sets the scale if it is not set yet, and reports whether the scale is this one. */
  adopt(scale: number): boolean {
    if (this.scale === 1) this.scale = scale
    return this.scale === scale
  }

  /** Whether buckets of this scale can be stored: those of 1 always can. */
  fits(scale: number): boolean {
    return scale === 1 || this.adopt(scale)
  }

  get(slot: number): number {
    return this.#parts.get(slot)
  }

  set(slot: number, early: number): void {
    if (this.scale !== 1) this.#parts.set(slot, early)
  }
}
