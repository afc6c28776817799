/** A limit per key: a token bucket that holds `units` and refills them in `windowMicros`. */
export interface Limit {
  readonly units: number
  readonly windowMicros: number
}

/** The buckets of many keys, by GCRA, in one array: the moment at which each is full again. */
export class Buckets {
  readonly #tat: Float64Array
  readonly #units: number
  /** How long a unit takes to refill. */
  readonly micros: number

  constructor(keys: number, { units, windowMicros }: Limit) {
    this.#tat = new Float64Array(keys)
    this.#units = units
    this.micros = windowMicros / units
  }

  /** The units that are left; negative in debt. */
  left(key: number, now: number): number {
    // Rounded at a millionth of a unit, for floating-point numbers.
    return Math.floor(this.#units - (this.fullAt(key, now) - now) / this.micros + 1e-6)
  }

  fullAt(key: number, now: number): number {
    return Math.max(this.#tat[key] as number, now)
  }

  take(key: number, units: number, now: number): boolean {
    if (this.left(key, now) < units) return false
    this.charge(key, units, now)
    return true
  }

  /** Takes units whether or not they are there; a negative number refunds. */
  charge(key: number, units: number, now: number): void {
    this.#tat[key] = this.fullAt(key, now) + units * this.micros
  }
}
