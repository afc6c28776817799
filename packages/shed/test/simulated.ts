import type { Clock } from '../src/clock.ts'

/** Random numbers from 0 to 1, always the same of one seed. */
export function seeded(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Event {
  readonly at: number
  readonly order: number
  callback: (() => void) | undefined
}

/** Time that passes from event to event. */
export class SimulatedTime implements Clock {
  #now = 0
  #order = 0
  /** A binary heap, by time and then by order. */
  readonly #events: Event[] = []

  now = (): number => this.#now

  after = (ms: number, callback: () => void): (() => void) => {
    const event: Event = { at: this.#now + Math.max(ms, 0), order: this.#order++, callback }
    this.#push(event)
    return () => {
      event.callback = undefined
    }
  }

  /** Runs what happens until then. */
  runUntil(end: number): void {
    for (;;) {
      const next = this.#events[0]
      if (next === undefined || next.at > end) break
      this.#pop()
      this.#now = next.at
      next.callback?.()
    }
    this.#now = end
  }

  #push(event: Event): void {
    const heap = this.#events
    let i = heap.push(event) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!isBefore(event, heap[parent] as Event)) break
      heap[i] = heap[parent] as Event
      i = parent
    }
    heap[i] = event
  }

  #pop(): void {
    const heap = this.#events
    const last = heap.pop() as Event
    if (heap.length === 0) return
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1
      if (!isBefore(heap[child] as Event, last)) break
      heap[i] = heap[child] as Event
      i = child
    }
    heap[i] = last
  }
}

const isBefore = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)
