import type { Micros } from '../common/time.ts'
import { commonDivisor, MOST_SCALE } from '../kernels/fraction.ts'
import type { BucketQuota } from './quota-types.ts'

// The numbers of the share of one of several processes.

/** One unit at least. */
export const shareOf = (units: number, replicas: number): number => Math.max(1, Math.floor(units / replicas))

/** Multiplies the time of a unit. It is rounded up if the product cannot be counted exactly. */
export function slowedBy(
  times: number,
  { ticksPerUnit: unit, scale }: Pick<BucketQuota, 'ticksPerUnit' | 'scale'>,
): Pick<BucketQuota, 'ticksPerUnit' | 'scale'> {
  const divisor = commonDivisor(scale, times)
  let [longer, parts] = [unit * (times / divisor), scale / divisor]
  for (; longer > MOST_SCALE && parts > 1; parts = Math.floor(parts / 2)) longer = Math.ceil(longer / 2) + 1
  return { ticksPerUnit: longer, scale: parts }
}

/** Fewer units in the same interval or, if that is less than one for each process, one unit in a longer interval. */
export function split(amount: number, interval: Micros, replicas: number): { amount: number; interval: Micros } {
  if (amount >= replicas) return { amount: Math.floor(amount / replicas), interval }
  return { amount: 1, interval: interval * Math.ceil(replicas / amount) }
}

/** The same of a window, as options. */
export function splitWindow(
  quota: { readonly limit: number; readonly window: Micros },
  replicas: number,
): { readonly limit: number; readonly window: number } {
  const { amount, interval } = split(quota.limit, quota.window, replicas)
  return { limit: amount, window: interval / 1000 }
}
