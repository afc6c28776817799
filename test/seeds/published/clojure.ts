/** The first listing: an atom that holds the count of the latest minute. */
export class CounterAtom {
  counters = new Map<number, number>()
  readonly maxHits: number

  constructor(maxHits: number) {
    this.maxHits = maxHits
  }

  /** Whether the request is to be throttled: the atom is then as it was. */
  throttle(timestamp: number): boolean {
    const minute = Math.trunc(timestamp / 60_000)
    const old = this.counters
    this.counters = new Map([[minute, Math.min((old.get(minute) ?? 0) + 1, this.maxHits)]])
    return old.get(minute) === this.counters.get(minute)
  }
}

/** The second listing: a queue of the timestamps that passed. */
export class RequestQueue {
  queue: readonly number[] = []
  readonly maxHits: number
  readonly intervalMs: number

  constructor(maxHits: number, intervalMs: number) {
    this.maxHits = maxHits
    this.intervalMs = intervalMs
  }

  throttle(timestamp: number): boolean {
    const first = this.queue.findIndex((each) => each > timestamp - this.intervalMs)
    this.queue = first === -1 ? [] : this.queue.slice(first)
    if (this.queue.length >= this.maxHits) return true
    this.queue = [...this.queue, timestamp]
    return false
  }
}

/** The third listing: a token bucket in an atom. `(float …)` keeps 24 bits. */
export class TokenAtom {
  lastCheckedTs: number
  tokensCount: number
  readonly maxHits: number
  readonly intervalMs: number

  constructor(maxHits: number, intervalMs: number, now: number) {
    this.maxHits = maxHits
    this.intervalMs = intervalMs
    this.lastCheckedTs = now
    this.tokensCount = maxHits
  }

  throttle(timestamp: number): boolean {
    const elapsed = timestamp - this.lastCheckedTs
    const toAdd = Math.fround(this.maxHits * elapsed) / this.intervalMs
    const count = this.tokensCount + toAdd - 1
    if (!(count > 0)) return true
    this.lastCheckedTs = timestamp
    this.tokensCount = Math.min(count, this.maxHits - 1)
    return false
  }
}
