import type { Quota } from '@spillway/core'

/** The most units that a quota admits: at once, and besides in a span of microseconds. */
export interface Rate {
  readonly burst: number
  /** Units that refill at once, at a boundary. A clock that steps back may pass the same boundary twice. */
  readonly atOnce?: number
  refill(micros: number): number
}

/** What a quota admits in any span of time, as the documentation of its algorithm states. */
export function rateOf(quota: Quota): Rate {
  const { limit, window } = quota
  switch (quota.kernel) {
    case 'bucket': {
      const { schedule, ticksPerUnit, scale } = quota
      if (schedule === null) return { burst: limit, refill: (micros) => (micros * scale) / ticksPerUnit }
      // One more interval may begin in a span.
      const { interval, amount } = schedule
      return { burst: limit, atOnce: amount, refill: (micros) => (Math.floor(micros / interval) + 1) * amount }
    }
    case 'warm-up':
      return { burst: quota.burst, refill: (micros) => (micros * quota.scale) / quota.ticksPerUnit }
    case 'sliding-log':
    // Those that are released come besides.
    case 'slots':
      return { burst: limit, refill: (micros) => Math.floor(micros / window) * limit }
    // A span touches one more window than fit into it.
    case 'sliding-window':
    case 'penalty':
      return { burst: limit, refill: (micros) => (Math.floor(micros / window) + 1) * limit }
  }
}
