import type { Verb } from '../src/internal.ts'

/** The plainest sliding log there is, to hold the real one against: a moment for each unit. */
export class PlainLog {
  readonly limit: number
  readonly window: number
  moments: number[] = []

  constructor(limit: number, window: number) {
    this.limit = limit
    this.window = window
  }

  step(now: number, verb: Verb, cost: number, since: number | undefined): boolean {
    const before = this.moments
    this.moments = this.seen(now)
    if (verb === 'refund') this.giveBack(cost, since)
    else if (verb === 'charge' || this.moments.length + cost <= this.limit) this.take(now, cost)
    else {
      // A denial leaves everything as it is, but for what is dated after now.
      if (before.every((moment) => moment <= now)) this.moments = before
      return false
    }
    return true
  }

  seen(now: number): number[] {
    return this.moments.map((moment) => Math.min(moment, now)).filter((moment) => moment + this.window > now)
  }

  take(now: number, cost: number): void {
    const newest = this.moments.at(-1)
    const owes = this.moments.length >= this.limit
    if (owes) this.moments = this.moments.map((moment) => (moment === newest ? now : moment))
    for (let i = 0; i < cost; i++) this.moments.push(now)
  }

  giveBack(cost: number, since: number | undefined): void {
    for (let i = 0; i < cost; i++) {
      const at = since === undefined ? this.moments.length - 1 : this.moments.lastIndexOf(since)
      if (at >= 0) this.moments.splice(at, 1)
    }
  }

  /** When so many units fit; now if they do, or never will. */
  fitsAt(now: number, units: number): number {
    const moments = this.seen(now)
    const over = moments.length + units - this.limit
    return over > 0 && over <= moments.length ? (moments[over - 1] as number) + this.window : now
  }
}
