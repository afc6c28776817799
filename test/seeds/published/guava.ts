interface Fields {
  readonly storedPermits: number
  readonly nextFreeTicketMicros: number
  readonly expiresAt: number
}

/** The Redis script of the text, line by line, over a map for Redis. Time is handed in, in microseconds. */
export class GuavaScript {
  readonly hashes = new Map<string, Fields>()

  /** Converts like Redis: to whole numbers, and NaN to the smallest 64-bit number. */
  acquire(
    key: string,
    maxPermits: number,
    permitsPerSecond: number,
    required: number,
    now: number,
    timeoutMicros?: number | '',
  ): number {
    const found = this.hashes.get(key)
    const fields = found && found.expiresAt > now ? found : undefined
    let next = fields?.nextFreeTicketMicros ?? 0
    if (timeoutMicros !== undefined) {
      if (timeoutMicros === '') throw new TypeError('attempt to compare nil with number')
      const microsToWait = next - now
      if (microsToWait > timeoutMicros) return redisInteger(microsToWait)
    }
    let stored = fields?.storedPermits ?? 0
    const interval = 1_000_000 / permitsPerSecond
    if (now > next) {
      stored = Math.min(maxPermits, stored + (now - next) / interval)
      next = now
    }
    const momentAvailable = next
    const spent = Math.min(required, stored)
    this.hashes.set(key, {
      storedPermits: stored - spent,
      nextFreeTicketMicros: next + (required - spent) * interval,
      expiresAt: now + 10_000_000,
    })
    return redisInteger(momentAvailable - now)
  }
}

const redisInteger = (value: number): number => (Number.isFinite(value) ? Math.trunc(value) : -(2 ** 63))
