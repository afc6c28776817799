/** A bucket of the article, with its five properties and two operations. Time is handed in, in seconds. */
export class SmyteBucket {
  readonly maxAmount: number
  readonly refillTime: number
  readonly refillAmount: number
  value: number
  lastUpdate: number

  constructor(maxAmount: number, refillTime: number, refillAmount: number, now: number) {
    this.maxAmount = maxAmount
    this.refillTime = refillTime
    this.refillAmount = refillAmount
    this.value = maxAmount
    this.lastUpdate = now
  }

  refill(now: number): void {
    const refillCount = Math.floor((now - this.lastUpdate) / this.refillTime)
    this.value = Math.min(this.maxAmount, this.value + refillCount * this.refillAmount)
    this.lastUpdate = Math.min(now, this.lastUpdate + refillCount * this.refillTime)
  }

  get(now: number): number {
    this.refill(now)
    return this.value
  }

  reduce(tokens: number, now: number): boolean {
    this.refill(now)
    if (tokens >= this.value) return false
    this.value -= tokens
    return true
  }
}

/** What the refill comes to in the 64-bit integers of the service's own language. */
export function refilledIn64Bits(maxAmount: bigint, value: bigint, refillCount: bigint, refillAmount: bigint): bigint {
  const refilled = BigInt.asIntN(64, value + refillCount * refillAmount)
  return refilled < maxAmount ? refilled : maxAmount
}

/** The service keeps the configuration as a part of the key. */
export class SmyteService {
  readonly buckets = new Map<string, SmyteBucket>()

  bucket(key: string, maxAmount: number, refillTime: number, refillAmount: number, now: number): SmyteBucket {
    const name = [key, maxAmount, refillTime, refillAmount].join(':')
    const bucket = this.buckets.get(name) ?? new SmyteBucket(maxAmount, refillTime, refillAmount, now)
    this.buckets.set(name, bucket)
    return bucket
  }
}
