import type { Decision, Micros } from '@spillway/core'
import { DistinctCount } from './distinct.ts'
import { least, most, sum, Timeline } from './timeline.ts'

/** What became of a key's requests. */
export interface KeyTally {
  readonly key: string
  asked: number
  refused: number
  firstRefusedAt: Micros
  lastRefusedAt: Micros
  longestRetryMs: number
  /** The least that was left after a request, and when. */
  leastRemaining: number
  leastAt: Micros
  followed: Followed | undefined
}

/** What happened to a key over time, from the moment that it was worth following. */
export interface Followed {
  readonly timeline: Timeline
  /** The least that was left in each part, NaN where the key asked for nothing. */
  readonly left: { readonly values: Float64Array }
  /** The most. */
  readonly mostLeft: { readonly values: Float64Array }
  readonly refused: { readonly values: Float64Array }
}

/** The most keys that are told apart at the end; up to twice as many are kept on the way. */
const MOST_KEYS = 50_000
/** The most keys whose remaining units are followed over time. */
const MOST_FOLLOWED = 500
/** In how many parts at most. */
const PARTS = 400

/** Counts by key, for as many keys as fit: where there are more, those that matter least are let go. */
export class Tally {
  readonly #always: ReadonlySet<string>
  #keys = new Map<string, KeyTally>()
  #followed = 0
  readonly #distinct = new DistinctCount()
  /** Whether every key was kept to the end. */
  exact = true

  constructor(always: readonly string[] = []) {
    this.#always = new Set(always)
  }

  /** A key's numbers, under a copy of the key that holds on to no line of the log. */
  of(key: string): KeyTally {
    const known = this.#keys.get(key)
    if (known !== undefined) return known
    if (this.#keys.size >= 2 * MOST_KEYS) this.#prune()
    const copy = copyOf(key)
    const fresh: KeyTally = {
      key: copy,
      asked: 0,
      refused: 0,
      firstRefusedAt: 0,
      lastRefusedAt: 0,
      longestRetryMs: 0,
      leastRemaining: Infinity,
      leastAt: 0,
      followed: undefined,
    }
    this.#keys.set(copy, fresh)
    this.#distinct.add(copy)
    if (this.#always.has(copy)) this.#follow(fresh)
    return fresh
  }

  /** Notes what was left to a key after a request, and follows it from the moment that gets scarce. */
  note(tally: KeyTally, at: Micros, { allowed, remaining, limit }: Decision): void {
    if (remaining < tally.leastRemaining) {
      tally.leastRemaining = remaining
      tally.leastAt = at
    }
    if (tally.followed === undefined && (remaining * 4 > limit || this.#followed >= MOST_FOLLOWED)) return
    const { timeline, left, mostLeft, refused } = tally.followed ?? this.#follow(tally)
    const part = timeline.at(at)
    left.values[part] = least(left.values[part] as number, remaining)
    mostLeft.values[part] = most(mostLeft.values[part] as number, remaining)
    if (!allowed) refused.values[part] = (refused.values[part] as number) + 1
  }

  /** How many keys there were; about as many if they are no longer all there. */
  get size(): number {
    return this.exact ? this.#keys.size : Math.max(this.#distinct.estimate(), this.#keys.size)
  }

  /** How many keys were refused something. */
  get refused(): number {
    let count = 0
    for (const { refused } of this.#keys.values()) if (refused > 0) count++
    return count
  }

  /** The keys that come first by an order, leaving out those that do not count. */
  top(
    count: number,
    order: (a: KeyTally, b: KeyTally) => number,
    counts: (tally: KeyTally) => boolean = () => true,
  ): readonly KeyTally[] {
    return [...this.#keys.values()].filter(counts).sort(order).slice(0, count)
  }

  #follow(tally: KeyTally): Followed {
    this.#followed++
    const timeline = new Timeline(PARTS)
    tally.followed = {
      timeline,
      left: timeline.series(least, Number.NaN),
      mostLeft: timeline.series(most, Number.NaN),
      refused: timeline.series(sum, 0),
    }
    return tally.followed
  }

  #prune(): void {
    const weights = Float64Array.from(this.#keys.values(), weight).sort()
    const least = weights[weights.length - MOST_KEYS] as number
    const kept = new Map<string, KeyTally>()
    for (const [key, tally] of this.#keys) {
      if (weight(tally) > least) kept.set(key, tally)
    }
    this.exact = false
    this.#keys = kept
  }
}

/** A text that holds on to no longer one that it was cut out of; engines copy short ones anyway. */
const copyOf = (text: string): string => (text.length < 13 ? text : Buffer.from(text).toString())

/** What is followed, or refused, matters more than what merely asks often. */
const weight = ({ asked, refused, followed }: KeyTally): number => (followed ? 1e15 : 0) + refused * 1e3 + asked
