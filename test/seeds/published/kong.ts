/** The Java `Limiter` of the article, line by line: a least gap between two requests. Time is handed in. */
export class MinimumGap {
  time = -1
  qps = 0
  qpsMillis = 0

  allowThisRequest(currentTime: number): boolean {
    if (this.time === -1) {
      this.time = currentTime
      return true
    }
    const result = currentTime - this.time
    if (result < this.qpsMillis) return false
    this.time = currentTime
    return true
  }

  setQPS(qps: number): void {
    if (qps < 1 || qps > 1_000_000) throw new RangeError()
    this.qps = qps
    this.qpsMillis = qps * 1000
  }
}

/** The same with the obvious repair, in Java's integers. */
export class RepairedGap extends MinimumGap {
  override setQPS(qps: number): void {
    super.setQPS(qps)
    this.qpsMillis = Math.trunc(1000 / qps)
  }
}

/** The article's sliding window: counters of windows on the clock, the previous one weighted by what is left of it. */
export class WeightedWindows {
  readonly counts = new Map<number, number>()
  readonly limit: number
  readonly window: number
  /** Increments first and compares then, as "set-then-get" is commonly read: denied requests count, too. */
  readonly setThenGet: boolean

  constructor(limit: number, window: number, { setThenGet = false } = {}) {
    this.limit = limit
    this.window = window
    this.setThenGet = setThenGet
  }

  allow(at: number): boolean {
    const index = Math.floor(at / this.window)
    const passed = (at % this.window) / this.window
    const current = (this.counts.get(index) ?? 0) + 1
    const allowed = (this.counts.get(index - 1) ?? 0) * (1 - passed) + current <= this.limit
    if (allowed || this.setThenGet) this.counts.set(index, current)
    return allowed
  }
}

/** "Get-then-set": reads the counter, thinks, and pushes it back. */
export class GetThenSet {
  counter = 0

  async allow(limit: number): Promise<boolean> {
    const current = await Promise.resolve(this.counter)
    if (current >= limit) return false
    await Promise.resolve()
    this.counter = current + 1
    return true
  }
}
