import type { Micros } from '../common/time.ts'
import type { Decision } from './decision.ts'
import { allow, deny } from './decision-of.ts'

/** A decision by a quota whose units all refill at once, in `end`. A block list reports another limit than it has. */
export function atOnce(
  policy: string,
  limit: number,
  cost: number,
  allowed: boolean,
  rest: number,
  end: Micros,
  most: number = limit,
): Decision {
  const remaining = Math.max(rest, 0)
  const reset = remaining === limit ? 0 : end
  if (allowed) return allow(policy, most, remaining, cost, reset, reset, 0)
  return deny(policy, most, remaining, cost, reset, reset, cost > limit ? Infinity : end)
}
