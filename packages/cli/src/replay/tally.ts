import type { Decision, Micros } from '@spillway/core'
import { DistinctCount } from './distinct.ts'
import { KeyNumbers } from './key-numbers.ts'
import { least, most, sum, Timeline } from './timeline.ts'

/** The counts of a key's requests. */
export interface KeyTally {
  readonly key: string
  readonly requests: number
  readonly denied: number
  readonly firstDeniedAt: Micros
  readonly lastDeniedAt: Micros
  readonly longestRetryMs: number
  /** The fewest remaining units after a request, and when. */
  readonly leastRemaining: number
  readonly leastAt: Micros
  readonly followed: Followed | undefined
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

/** Where the counts of a key are. Those that every request changes come first, in one cache line. */
const [REQUESTS, LEAST_REMAINING, LEAST_AT, FOLLOWED, DENIED, FIRST_DENIED, LAST_DENIED, LONGEST_RETRY, SIZE] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8,
] as const
/** The initial capacity, in keys. */
const LEAST_KEYS = 1 << 10

/** Counts by key, for a bounded number of keys: above it, the least important ones are evicted. */
export class Tally {
  readonly #always: ReadonlySet<string>
  #keys = new KeyNumbers()
  #counts = new Float64Array(SIZE * LEAST_KEYS)
  /** Those of keys that were evicted meanwhile, too. */
  readonly #followed: Followed[] = []
  readonly #distinct = new DistinctCount()
  /** Whether no key was evicted. */
  exact = true

  readonly #textOf: (key: string) => string

  /** `textOf` is a key as people write it, which `always` may have, too. */
  constructor(always: readonly string[] = [], textOf: (key: string) => string = (key) => key) {
    this.#always = new Set(always)
    this.#textOf = textOf
  }

  /** The number of a key, until the next key that is new. */
  of(key: string): number {
    const known = this.#keys.find(key)
    if (known >= 0) return known
    if (this.#keys.texts.length >= 2 * MOST_KEYS) this.#prune()
    const number = this.#keys.add(key)
    const text = this.#keys.texts[number] as string
    const start = SIZE * number
    if (start === this.#counts.length) this.#grow()
    this.#counts[start + LEAST_REMAINING] = Infinity
    this.#distinct.add(text)
    if (this.#always.has(text) || this.#always.has(this.#textOf(text))) this.#follow(start)
    return number
  }

  /** Records a request, and follows its key once the remaining units are scarce. */
  record(number: number, at: Micros, { allowed, remaining, limit, retryAfterMs }: Decision): void {
    const counts = this.#counts
    const start = SIZE * number
    counts[start + REQUESTS] = (counts[start + REQUESTS] as number) + 1
    if (remaining < (counts[start + LEAST_REMAINING] as number)) {
      counts[start + LEAST_REMAINING] = remaining
      counts[start + LEAST_AT] = at
    }
    if (!allowed) {
      if (counts[start + DENIED] === 0) counts[start + FIRST_DENIED] = at
      counts[start + DENIED] = (counts[start + DENIED] as number) + 1
      counts[start + LAST_DENIED] = at
      if (retryAfterMs > (counts[start + LONGEST_RETRY] as number)) counts[start + LONGEST_RETRY] = retryAfterMs
    }
    const isFollowed = counts[start + FOLLOWED] !== 0
    if (!isFollowed && (remaining * 4 > limit || this.#followed.length >= MOST_FOLLOWED)) return
    const { timeline, leastRemaining, mostRemaining, denied } = this.#follow(start)
    const part = timeline.at(at)
    leastRemaining.values[part] = least(leastRemaining.values[part] as number, remaining)
    mostRemaining.values[part] = most(mostRemaining.values[part] as number, remaining)
    if (!allowed) denied.values[part] = (denied.values[part] as number) + 1
  }

  /** The number of keys; an estimate after an eviction. */
  get size(): number {
    const { length } = this.#keys.texts
    return this.exact ? length : Math.max(this.#distinct.estimate(), length)
  }

  /** The counts of all keys, in the order of their first requests. */
  all(): readonly KeyTally[] {
    return this.#keys.texts.map((key, number) => {
      const at = (field: number): number => this.#counts[SIZE * number + field] as number
      return {
        key,
        requests: at(REQUESTS),
        denied: at(DENIED),
        firstDeniedAt: at(FIRST_DENIED),
        lastDeniedAt: at(LAST_DENIED),
        longestRetryMs: at(LONGEST_RETRY),
        leastRemaining: at(LEAST_REMAINING),
        leastAt: at(LEAST_AT),
        followed: this.#followed[at(FOLLOWED) - 1],
      }
    })
  }

  /** The timeline of the key whose counts begin at `start`. */
  #follow(start: number): Followed {
    const known = this.#followed[(this.#counts[start + FOLLOWED] as number) - 1]
    if (known !== undefined) return known
    const timeline = new Timeline(PARTS)
    const fresh = {
      timeline,
      leastRemaining: timeline.series(least, Number.NaN),
      mostRemaining: timeline.series(most, Number.NaN),
      denied: timeline.series(sum, 0),
    }
    this.#counts[start + FOLLOWED] = this.#followed.push(fresh)
    return fresh
  }

  #grow(): void {
    const counts = new Float64Array(2 * this.#counts.length)
    counts.set(this.#counts)
    this.#counts = counts
  }

  #prune(): void {
    const counts = this.#counts
    const { texts } = this.#keys
    const weights = Float64Array.from(texts, (_, number) => weightAt(counts, SIZE * number))
    const most = weights.slice().sort()[weights.length - MOST_KEYS] as number
    const kept = new KeyNumbers()
    for (const [number, key] of texts.entries()) {
      if ((weights[number] as number) <= most) continue
      const start = SIZE * number
      counts.copyWithin(SIZE * kept.add(key), start, start + SIZE)
    }
    counts.fill(0, SIZE * kept.texts.length)
    this.exact = false
    this.#keys = kept
  }
}

/** Keys that are followed or denied matter more than keys with many requests. */
const weightAt = (counts: Float64Array, start: number): number =>
  (counts[start + FOLLOWED] === 0 ? 0 : 1e15) +
  (counts[start + DENIED] as number) * 1e3 +
  (counts[start + REQUESTS] as number)
