import type { Decision, Micros } from '@spillway/core'
import { copyOf } from '../log/copy.ts'
import { DistinctCount } from './distinct.ts'
import { least, most, sum, Timeline } from './timeline.ts'

/** The counts of a key's requests. */
export interface KeyTally {
  readonly key: string
  requests: number
  denied: number
  firstDeniedAt: Micros
  lastDeniedAt: Micros
  longestRetryMs: number
  /** The fewest remaining units after a request, and when. */
  leastRemaining: number
  leastAt: Micros
  followed: Followed | undefined
}

/** The timeline of a key, from the time when it becomes scarce. */
export interface Followed {
  readonly timeline: Timeline
  /** The fewest remaining units per interval, NaN without requests. */
  readonly leastRemaining: { readonly values: Float64Array }
  /** The most remaining units per interval. */
  readonly mostRemaining: { readonly values: Float64Array }
  readonly denied: { readonly values: Float64Array }
}

/** The most keys in the result; up to twice as many are kept while counting. */
const MOST_KEYS = 50_000
/** The most keys whose remaining units are followed over time. */
const MOST_FOLLOWED = 500
/** The most intervals of a key's timeline. */
const PARTS = 400

/** Counts by key, for a bounded number of keys: above it, the least important ones are evicted. */
export class Tally {
  readonly #always: ReadonlySet<string>
  #keys = new Map<string, KeyTally>()
  #followed = 0
  readonly #distinct = new DistinctCount()
  /** Whether no key was evicted. */
  exact = true

  readonly #textOf: (key: string) => string

  /** `textOf` is a key as people write it, which `always` may have, too. */
  constructor(always: readonly string[] = [], textOf: (key: string) => string = (key) => key) {
    this.#always = new Set(always)
    this.#textOf = textOf
  }

  /** A key's counts, under a copy of the key, because a substring would keep its whole line in memory. */
  of(key: string): KeyTally {
    const known = this.#keys.get(key)
    if (known !== undefined) return known
    if (this.#keys.size >= 2 * MOST_KEYS) this.#prune()
    const copy = copyOf(key)
    const fresh: KeyTally = {
      key: copy,
      requests: 0,
      denied: 0,
      firstDeniedAt: 0,
      lastDeniedAt: 0,
      longestRetryMs: 0,
      leastRemaining: Infinity,
      leastAt: 0,
      followed: undefined,
    }
    this.#keys.set(copy, fresh)
    this.#distinct.add(copy)
    if (this.#always.has(copy) || this.#always.has(this.#textOf(copy))) this.#follow(fresh)
    return fresh
  }

  /** Records the remaining units after a request, and follows the key once they are scarce. */
  record(tally: KeyTally, at: Micros, { allowed, remaining, limit }: Decision): void {
    if (remaining < tally.leastRemaining) {
      tally.leastRemaining = remaining
      tally.leastAt = at
    }
    if (tally.followed === undefined && (remaining * 4 > limit || this.#followed >= MOST_FOLLOWED)) return
    const { timeline, leastRemaining, mostRemaining, denied } = tally.followed ?? this.#follow(tally)
    const part = timeline.at(at)
    leastRemaining.values[part] = least(leastRemaining.values[part] as number, remaining)
    mostRemaining.values[part] = most(mostRemaining.values[part] as number, remaining)
    if (!allowed) denied.values[part] = (denied.values[part] as number) + 1
  }

  /** The number of keys; an estimate after an eviction. */
  get size(): number {
    return this.exact ? this.#keys.size : Math.max(this.#distinct.estimate(), this.#keys.size)
  }

  /** The number of keys with denied requests. */
  get denied(): number {
    let count = 0
    for (const { denied } of this.#keys.values()) if (denied > 0) count++
    return count
  }

  /** The first keys in an order, without those that do not count. */
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
      leastRemaining: timeline.series(least, Number.NaN),
      mostRemaining: timeline.series(most, Number.NaN),
      denied: timeline.series(sum, 0),
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

/** Keys that are followed or denied matter more than keys with many requests. */
const weight = ({ requests, denied, followed }: KeyTally): number => (followed ? 1e15 : 0) + denied * 1e3 + requests
