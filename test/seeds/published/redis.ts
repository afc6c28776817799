/** The published Lua script over the two strings it keeps in Redis, line by line. */
export class LuaBucket {
  readonly redis = new Map<'ts' | 'tokens', number>()
  readonly #maxHits: number
  readonly #intervalMs: number

  constructor(maxHits: number, intervalMs: number) {
    this.#maxHits = maxHits
    this.#intervalMs = intervalMs
  }

  /** Reports whether the request is to be throttled; the time is the caller's. */
  throttle(timestamp: number): boolean {
    const last = this.redis.get('ts')
    if (last === undefined) {
      this.redis.set('tokens', this.#maxHits - 1).set('ts', timestamp)
      return false
    }
    const count = this.redis.get('tokens')
    const toAdd = Math.floor((this.#maxHits * (timestamp - last)) / this.#intervalMs + 0.5)
    if (count === undefined) throw new TypeError("attempt to perform arithmetic on local 'tokens_count' (a nil value)")
    const tokens = Math.min(count + toAdd - 1, this.#maxHits - 1)
    if (tokens >= 0) this.redis.set('tokens', tokens).set('ts', timestamp)
    return tokens < 0
  }
}
