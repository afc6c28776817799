import type { Micros } from '@spillway/core'
import type { Entry } from '../log/entry.ts'
import { KeyNumbers } from './key-numbers.ts'
import { firstOf } from './top.ts'

/** The most requests whose durations are kept: of a longer log, the first ones. */
const MOST = 1_000_000
/** The keys that are listed. */
const LISTED = 20
/** A log of less is taken as this long, if durations are compared with it. */
const SHORTEST_LOG: Micros = 60e6
/** The limits of `inFlight` that are tried at most. */
const TRIED = 10

/** How many requests were in flight at once. */
export interface Concurrency {
  /** The requests that have a duration, and those that have none, or an invalid one. */
  readonly requests: number
  readonly withoutDuration: number
  /** Requests that took longer than the log is: its unit may be another. */
  readonly longerThanLog: number
  /** Whether the log has whole seconds only: requests of a second are taken as spread over it. */
  readonly isSpread: boolean
  /** Whether the log has more requests than these. */
  readonly isPartial: boolean
  /** Keys, those with the most at once first. */
  readonly keys: readonly KeyConcurrency[]
  /** What `inFlight(limit)` would have denied, ascending by limit; the last denies nothing. */
  readonly limits: readonly SlotsDenied[]
}

/** How many requests of a key were in flight at once. */
export interface KeyConcurrency {
  readonly key: string
  readonly requests: number
  readonly max: number
  /** 99 % of the key's requests found at most so many in flight, themselves among them. */
  readonly p99: number
  /** The mean over the time of the log, by Little's law. */
  readonly mean: number
}

export interface SlotsDenied {
  readonly limit: number
  readonly denied: number
  /** The keys with a denied request. */
  readonly keys: number
}

/** When requests of a log were in flight. */
export class Flights {
  /** Key, start, end, key, … */
  #flights = new Float64Array(3 * 1024)
  #used = 0
  readonly #keys = new KeyNumbers()
  #without = 0
  #isPartial = false
  #isWhole = true
  #isTimeOfStart = false
  #first: Micros = Infinity
  #last: Micros = 0

  add(key: string, entry: Entry): void {
    const { took } = entry
    if (took === undefined || took > entry.at) {
      this.#without++
      return
    }
    if (this.#used === 3 * MOST) {
      this.#isPartial = true
      return
    }
    const { at, isTimeOfStart = false } = entry
    if (at % 1e6 !== 0) this.#isWhole = false
    this.#isTimeOfStart = isTimeOfStart
    this.#first = Math.min(this.#first, at)
    this.#last = Math.max(this.#last, at)
    const known = this.#keys.find(key)
    if (this.#used === this.#flights.length) this.#grow()
    const from = isTimeOfStart ? at : at - took
    this.#flights[this.#used++] = known < 0 ? this.#keys.add(key) : known
    this.#flights[this.#used++] = from
    // What takes no time was in flight for a moment.
    this.#flights[this.#used++] = from + Math.max(took, 1)
  }

  /** Undefined if no request has a duration. */
  result(textOf: (key: string) => string): Concurrency | undefined {
    const requests = this.#used / 3
    if (requests === 0) return undefined
    const flights = this.#spread()
    const order = orderOf(flights)
    const span = Math.max(order.to - order.from, 1)
    const longest = Math.max(this.#last - this.#first, SHORTEST_LOG)
    const seen = seenBy(flights, order, this.#keys.texts.length)
    let longerThanLog = 0
    for (let i = 0; i < flights.length; i += 3) if (lengthAt(flights, i) > longest) longerThanLog++
    const keys = seen.map(({ counts, busy }, number) => ({
      key: textOf(this.#keys.texts[number] as string),
      requests: counts.length,
      max: counts.at(-1) ?? 0,
      p99: counts[Math.ceil(counts.length * 0.99) - 1] ?? 0,
      mean: busy / span,
    }))
    const most = keys.reduce((max, each) => Math.max(max, each.max), 0)
    return {
      requests,
      withoutDuration: this.#without,
      longerThanLog,
      isSpread: this.#isWhole,
      isPartial: this.#isPartial,
      keys: firstOf(keys, LISTED, (a, b) => b.max - a.max || b.mean - a.mean),
      limits: limitsTo(most).map((limit) => deniedBySlots(flights, order, this.#keys.texts.length, limit)),
    }
  }

  /** Requests that end in the same whole second are spread over it, in the order of their lines. */
  #spread(): Float64Array {
    const flights = this.#flights.slice(0, this.#used)
    if (!this.#isWhole) return flights
    const bySecond = new Map<number, number[]>()
    for (let i = 0; i < flights.length; i += 3) {
      const second = Math.floor((flights[this.#isTimeOfStart ? i + 1 : i + 2] as number) / 1e6)
      const same = bySecond.get(second)
      if (same) same.push(i)
      else bySecond.set(second, [i])
    }
    for (const same of bySecond.values()) {
      for (const [n, i] of same.entries()) {
        const shift = Math.floor((1e6 * (n + 0.5)) / same.length)
        flights[i + 1] = (flights[i + 1] as number) + shift
        flights[i + 2] = (flights[i + 2] as number) + shift
      }
    }
    return flights
  }

  #grow(): void {
    const larger = new Float64Array(2 * this.#flights.length)
    larger.set(this.#flights)
    this.#flights = larger
  }
}

const lengthAt = (flights: Float64Array, i: number): Micros => (flights[i + 2] as number) - (flights[i + 1] as number)

/** The requests by their starts, and by their ends: places in the flights. */
interface Order {
  readonly starts: Float64Array
  readonly ends: Float64Array
  readonly from: Micros
  readonly to: Micros
}

function orderOf(flights: Float64Array): Order {
  const places = Float64Array.from({ length: flights.length / 3 }, (_, n) => 3 * n)
  const by = (field: number): Float64Array =>
    places.slice().sort((a, b) => (flights[a + field] as number) - (flights[b + field] as number) || a - b)
  const [starts, ends] = [by(1), by(2)]
  return {
    starts,
    ends,
    from: flights[(starts[0] as number) + 1] as number,
    to: flights[(ends[ends.length - 1] as number) + 2] as number,
  }
}

/** Visits starts and ends in the order of time. A request that ends when another begins is not in flight with it. */
function sweep(
  flights: Float64Array,
  { starts, ends }: Order,
  start: (at: number) => void,
  end: (at: number) => void,
): void {
  let ended = 0
  for (const at of starts) {
    while ((flights[(ends[ended] as number) + 2] as number) <= (flights[at + 1] as number)) end(ends[ended++] as number)
    start(at)
  }
}

/** Of each key, how many each of its requests found in flight, itself among them, ascending, and the sum of their times. */
function seenBy(
  flights: Float64Array,
  order: Order,
  size: number,
): readonly { readonly counts: readonly number[]; readonly busy: Micros }[] {
  const seen = Array.from({ length: size }, () => ({ counts: [] as number[], busy: 0 }))
  const inFlight = new Float64Array(size)
  const keyAt = (at: number): number => flights[at] as number
  sweep(
    flights,
    order,
    (at) => {
      const key = keyAt(at)
      const count = (inFlight[key] as number) + 1
      inFlight[key] = count
      const known = seen[key] as (typeof seen)[number]
      known.counts.push(count)
      known.busy += lengthAt(flights, at)
    },
    (at) => {
      inFlight[keyAt(at)] = (inFlight[keyAt(at)] as number) - 1
    },
  )
  for (const { counts } of seen) counts.sort((a, b) => a - b)
  return seen
}

/** What `inFlight(limit)` would have denied: a request that is denied holds no slot. */
function deniedBySlots(flights: Float64Array, order: Order, size: number, limit: number): SlotsDenied {
  const used = new Float64Array(size)
  const hit = new Set<number>()
  const holds = new Uint8Array(flights.length / 3)
  let denied = 0
  sweep(
    flights,
    order,
    (at) => {
      const key = flights[at] as number
      if ((used[key] as number) >= limit) {
        denied++
        hit.add(key)
        return
      }
      used[key] = (used[key] as number) + 1
      holds[at / 3] = 1
    },
    (at) => {
      const key = flights[at] as number
      if (holds[at / 3] === 1) used[key] = (used[key] as number) - 1
    },
  )
  return { limit, denied, keys: hit.size }
}

/** Whole numbers from 1 to the most, in equal ratios. */
const limitsTo = (most: number): readonly number[] => [
  ...new Set(Array.from({ length: TRIED }, (_, i) => Math.round(most ** (i / (TRIED - 1))))),
]
