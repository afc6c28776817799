/** The Go `TokenBucket` of the text, line by line. Time is handed in, in nanoseconds. */
export class GoTokenBucket {
  lastTime: number
  tokens: number
  readonly capacity: number
  readonly rate: number

  constructor(rate: number, capacity: number, now: number) {
    this.lastTime = now
    this.capacity = capacity
    this.rate = rate
    this.tokens = capacity
  }

  getToken(now: number): boolean {
    const seconds = (now - this.lastTime) / 1e9
    const tokens = Math.min(this.capacity, this.tokens + seconds * this.rate)
    this.tokens = tokens
    if (tokens < 1) return false
    this.tokens -= 1
    this.lastTime = now
    return true
  }
}
