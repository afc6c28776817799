import type { BucketStep } from '@spillway/core'
import { type Exact, exactly, WHOLE } from '@spillway/core/internal'
import { multiple } from './fraction.ts'

interface Bounds {
  readonly scale: number
  readonly total: Exact
  readonly mostAhead: number | null
  readonly first: Exact
  readonly last: Exact
}

/** The units of all calls, and how far ahead of now the bucket may be full for the first call to fit, and for the last. */
export function boundsOf(count: number, step: BucketStep): Bounds {
  const { maxWaitMicros, ceiling } = step
  const parts = step.fraction ?? WHOLE
  const { scale } = parts
  const increment = { tick: step.increment, early: parts.increment }
  const others = multiple(count - 1, increment, scale)
  const total = multiple(count, increment, scale)
  const first = exactly(step.check - step.tolerance, parts.check - parts.tolerance, scale)
  const last = exactly(first.tick + others.tick, first.early + others.early, scale)
  const ahead = maxWaitMicros - last.tick
  return {
    scale,
    total,
    mostAhead: ahead >= 0 && ahead + total.tick <= ceiling ? ahead : null,
    first: { tick: maxWaitMicros - first.tick, early: first.early },
    last: { tick: ahead, early: last.early },
  }
}
