import type { FractionalBucket, State } from '@spillway/core'

/** How many slots there is room for at first. */
const LEAST = 16

/**
 * How much earlier than its moment the bucket of each slot is full again, in parts of a microsecond: of one scale, that of
 * the first quota that needs it. There is nothing of it for a policy whose units take whole microseconds.
 */
export class Earlies {
  /** Parts of a microsecond; 1 as long as nothing is kept. */
  scale = 1
  #parts = new Float64Array(0)

  /** Keeps parts of this scale from now on, if it keeps none yet; reports whether it does. */
  adopt(scale: number): boolean {
    if (this.scale === 1) this.scale = scale
    return this.scale === scale
  }

  get(slot: number): number {
    return slot < this.#parts.length ? (this.#parts[slot] as number) : 0
  }

  set(slot: number, early: number): void {
    if (this.scale === 1) return
    if (slot >= this.#parts.length) this.#grow(slot)
    this.#parts[slot] = early
  }

  /** The state of a bucket that is full again at `moment`, or as much earlier as is kept here. */
  stateOf(slot: number, moment: number): number | FractionalBucket {
    const early = this.get(slot)
    if (early === 0) return moment
    return { tat: moment, gross: Math.abs(moment), turn: 0, scale: this.scale, early, grossEarly: early }
  }

  /** Reports whether a state is no more than a moment and how much earlier the bucket is full. */
  holds(state: State): state is FractionalBucket {
    if (typeof state !== 'object' || !('scale' in state)) return false
    const { tat, gross, turn, early, grossEarly, scale } = state
    return gross === Math.abs(tat) && turn === 0 && early === grossEarly && this.adopt(scale)
  }

  #grow(slot: number): void {
    const parts = new Float64Array(Math.max(2 * slot, LEAST))
    parts.set(this.#parts)
    this.#parts = parts
  }
}
