const INT = 2 ** 31 - 1

/** A numeric turned into a bigint, as PostgreSQL assigns it: rounded to the nearest. */
const rounded = (value: number): number => Math.sign(value) * Math.round(Math.abs(value)) || 0

/** The published function `rate_limiting_token_bucket_request`, statement by statement, for one row. */
export class TokenRow {
  /** Row versions written so far. */
  writes = 0
  #row: { tk: number; ts: number } | undefined
  readonly #refill: number
  readonly #window: number

  constructor(refillPerSecond: number, windowSeconds: number) {
    if (windowSeconds * refillPerSecond > INT) throw new RangeError('integer out of range')
    this.#refill = refillPerSecond
    this.#window = windowSeconds
  }

  /** What is left, or -1. `clock` is `clock_timestamp()` in seconds, `now` the start of the transaction. */
  request(clock: number, now: number = clock): number {
    const cap = this.#window * this.#refill
    this.writes++
    if (this.#row === undefined) {
      this.#row = { tk: cap - 1, ts: clock }
    } else {
      const { tk, ts } = this.#row
      this.#row = { tk: rounded(Math.max(Math.min(tk - 1 + this.#refill * (clock - ts), cap), -1)), ts: now }
    }
    return this.#row.tk
  }
}
