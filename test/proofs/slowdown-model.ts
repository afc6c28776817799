import type { Claims } from './solver.ts'
import {
  atMost,
  type Bool,
  below,
  both,
  difference,
  equal,
  greater,
  implies,
  type Num,
  number,
  numeric,
  ZERO,
} from './values.ts'

export const times = (a: Num, b: Num): Num => numeric(`(* ${a.term} ${b.term})`)
export const twice = (a: Num): Num => times(number(2), a)

/** That `quotient` is `x × y / divisor`, rounded up. */
export const dividesUp = (x: Num, y: Num, divisor: Num, quotient: Num): Claims => ({
  'not less': atMost(times(x, y), times(quotient, divisor)),
  'not more': below(times(difference(quotient, number(1)), divisor), times(x, y)),
})

/** The factors and the divisors for which {@link dividesUp} is proved. */
export const areFactors = (x: Num, y: Num, divisor: Num): Bool =>
  both(atMost(ZERO, x), atMost(x, divisor), atMost(x, y), atMost(y, twice(divisor)))

/** What holds of the microseconds that units take longer, while a key gets warmer from `before` to `after`. */
export const slowsDown = (before: Num, after: Num, half: Num, slower: Num): Claims => ({
  'not less than 0': atMost(ZERO, slower),
  'none when warm': implies(atMost(before, half), equal(slower, ZERO)),
  'twice the time of the units at most': atMost(slower, twice(difference(before, after))),
})

/** The range of coldness for which {@link slowsDown} is proved. */
export const isWarmer = (before: Num, after: Num, half: Num): Bool =>
  both(atMost(ZERO, after), atMost(after, before), atMost(before, twice(half)))

/** The area below the additional interval between units, times `half`: the interval is 0 up to `half`, and rises then. */
export function area(before: Num, after: Num, half: Num): Num {
  const square = (cold: Num): Num => {
    const above = greater(difference(cold, half), ZERO)
    return times(above, above)
  }
  return difference(square(before), square(after))
}
