/** A concurrency limit, and what it learns of the calls that it lets through. Times are milliseconds that never step back. */
export interface Limit {
  /** How many calls may be in flight: a whole number. */
  readonly current: number
  /** A call has started: `inFlight` is how many there are with it. */
  started(now: number, inFlight: number): void
  /** Calls are queued because the limit is reached; `stands` says whether that queue does not drain by itself. */
  reached(stands: boolean): void
  /** A call has ended: `inFlight` is how many are left. `startedAt` is undefined if its latency says nothing. */
  ended(now: number, inFlight: number, startedAt: number | undefined): void
}

/** A limit that never changes. */
export class FixedLimit implements Limit {
  readonly current: number

  constructor(limit: number) {
    this.current = limit
  }

  started(): void {}
  reached(): void {}
  ended(): void {}
}
