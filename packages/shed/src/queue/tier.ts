import { HAND, handOf, QUEUES } from './hands.ts'
import { List, type Place } from './list.ts'
import { Standing, type Waits } from './standing.ts'
import type { DropReason, Lane, Waiter } from './waiter.ts'

const newLane = (): Lane => ({ waiters: new List(), turn: undefined })

/** The callers of one priority. Lanes take turns, so that a key with many callers waits longer than one with few. */
export class Tier {
  readonly #salt: number
  readonly #ages = new List<Waiter>()
  readonly #turns = new List<Lane>()
  /** All callers without a key. */
  readonly #common = newLane()
  #lanes: readonly Lane[] | undefined
  readonly #standing: Standing
  /** When a caller of a higher priority was served instead. */
  passedOverAt: number = Number.NEGATIVE_INFINITY

  constructor(waits: Waits, salt: number) {
    this.#standing = new Standing(waits)
    this.#salt = salt
  }

  get size(): number {
    return this.#ages.size
  }

  /** When the next caller is dropped; `Infinity` if none waits. */
  dropAt(now: number): number {
    return this.#ages.first ? this.#standing.dropAt(now) : Infinity
  }

  isOverload(now: number): boolean {
    return this.#standing.isOverload(now)
  }

  join(tier: number, key: string | undefined, now: number, decided: Waiter['decided']): Waiter {
    const lane = this.#laneOf(key)
    const waiter = { tier, arrivedAt: now, lane, decided } as Waiter & { age: Place<Waiter>; own: Place<Waiter> }
    waiter.age = this.#ages.add(waiter)
    waiter.own = lane.waiters.add(waiter)
    lane.turn ??= this.#turns.add(lane)
    if (this.#ages.first === waiter.age) this.#standing.oldest(now, now)
    return waiter
  }

  /** Removes the caller whose turn it is: of a lane, the first, or under overload the last, as it has waited the least. */
  next(now: number): Waiter | undefined {
    const lane = this.#turns.first?.value
    if (lane === undefined) return undefined
    const { first, last } = lane.waiters
    const { value } = (this.isOverload(now) ? last : first) as Place<Waiter>
    this.remove(value, now)
    if (lane.turn) {
      this.#turns.remove(lane.turn)
      lane.turn = this.#turns.add(lane)
    }
    return value
  }

  /** The caller that makes room: the one that has waited the longest among those of the longest lane. */
  victim(): Waiter | undefined {
    let longest: Lane | undefined
    for (let turn = this.#turns.first; turn; turn = turn.after)
      if (longest === undefined || turn.value.waiters.size > longest.waiters.size) longest = turn.value
    return longest?.waiters.first?.value
  }

  /** Drops the callers that have waited too long. */
  dropLate(now: number, drop: (waiter: Waiter, reason: DropReason) => void): void {
    while (this.dropAt(now) <= now) {
      const { value } = this.#ages.first as Place<Waiter>
      this.remove(value, now)
      drop(value, this.passedOverAt >= value.arrivedAt ? 'priority' : 'time-out')
    }
  }

  /** Removes a caller, in constant time. */
  remove({ age, own, lane }: Waiter, now: number): void {
    const wasFirst = this.#ages.first === age
    this.#ages.remove(age)
    lane.waiters.remove(own)
    if (lane.waiters.size === 0 && lane.turn) {
      this.#turns.remove(lane.turn)
      lane.turn = undefined
    }
    if (wasFirst) this.#standing.oldest(now, this.#ages.first?.value.arrivedAt ?? Infinity)
  }

  /** The shortest lane of a key's hand. */
  #laneOf(key: string | undefined): Lane {
    if (key === undefined) return this.#common
    this.#lanes ??= Array.from({ length: QUEUES }, newLane)
    const hand = handOf(key, this.#salt)
    let shortest = this.#lanes[hand[0] as number] as Lane
    for (let i = 1; i < HAND && shortest.waiters.size > 0; i++) {
      const lane = this.#lanes[hand[i] as number] as Lane
      if (lane.waiters.size < shortest.waiters.size) shortest = lane
    }
    return shortest
  }
}
