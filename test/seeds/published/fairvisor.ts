/** nginx's shared dictionary: text under names, the one used longest ago dropped when there is no room. */
export class SharedDict {
  readonly entries = new Map<string, string>()
  readonly capacity: number

  constructor(capacity = Infinity) {
    this.capacity = capacity
  }

  get(key: string): string | undefined {
    const value = this.entries.get(key)
    if (value !== undefined) this.set(key, value)
    return value
  }

  set(key: string, value: string): void {
    this.entries.delete(key)
    this.entries.set(key, value)
    if (this.entries.size > this.capacity) this.entries.delete(this.entries.keys().next().value as string)
  }

  incr(key: string, by: number): number {
    const sum = Number(this.get(key) ?? 0) + by
    this.set(key, String(sum))
    return sum
  }
}

export interface Verdict {
  readonly allowed: boolean
  readonly remaining: number
  readonly retryAfter?: number
  readonly reset?: number
}

/** The token bucket of the page, with the state's text as the Lua source writes it. Time is in seconds. */
export class FairvisorBucket {
  readonly dict: SharedDict
  readonly rate: number
  readonly burst: number

  constructor(rate: number, burst: number, dict: SharedDict = new SharedDict()) {
    if (!(rate > 0 && burst >= rate)) throw new RangeError('burst must be >= tokens_per_second')
    this.dict = dict
    this.rate = rate
    this.burst = burst
  }

  check(key: string, cost: number, now: number): Verdict {
    return this.decide(key, cost, now, this.dict.get(`tb:${key}`))
  }

  /** The same on a worker that is interrupted between its read and its write. */
  async checkWhile(key: string, cost: number, now: number, pause: Promise<void>): Promise<Verdict> {
    const read = this.dict.get(`tb:${key}`)
    await pause
    return this.decide(key, cost, now, read)
  }

  private decide(key: string, cost: number, now: number, read: string | undefined): Verdict {
    const [tokens = this.burst, lastRefill = now] = read === undefined ? [] : read.split(':').map(Number)
    const elapsed = Math.max(0, now - lastRefill)
    const refilled = Math.min(tokens + elapsed * this.rate, this.burst)
    const allowed = refilled >= cost
    const left = allowed ? refilled - cost : refilled
    this.dict.set(`tb:${key}`, `${left.toFixed(6)}:${now.toFixed(6)}`)
    if (allowed) return { allowed, remaining: Math.floor(left), reset: 1 }
    return { allowed, remaining: Math.floor(left), retryAfter: Math.ceil((cost - refilled) / this.rate) }
  }
}

/** The tokens of a day: counts first, and takes the count back when it was too much. */
export async function takeFromBudget(dict: SharedDict, budget: number, cost: number): Promise<boolean> {
  if (dict.incr('tpd', cost) <= budget) return true
  const counted = Number(dict.get('tpd'))
  await Promise.resolve()
  dict.set('tpd', String(counted - cost))
  return false
}

/** The cost of a request, from a header that the client writes. */
export function costOf(header: string | undefined, defaultCost: number): number {
  const cost = Number(header)
  return cost > 0 ? cost : defaultCost
}
