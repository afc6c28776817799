import { QuotaError } from '../../common/errors.ts'
import { LONGEST } from '../../common/time.ts'
import { spanOf } from '../../kernels/fraction.ts'
import type { WarmUpQuota } from '../quota-types.ts'

/** A quota that warms up, if the units of a request take a time that can be counted. */
export function warmUpQuota(
  what: string,
  { burst, ticksPerUnit, scale, half }: Pick<WarmUpQuota, 'burst' | 'ticksPerUnit' | 'scale' | 'half'>,
): WarmUpQuota {
  const most = Math.floor((LONGEST * scale) / ticksPerUnit)
  if (burst <= most) {
    return Object.freeze({
      kernel: 'warm-up',
      limit: 1,
      burst,
      window: spanOf(1, ticksPerUnit, scale).tick,
      ticksPerUnit,
      scale,
      half,
    })
  }
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    most < 1
      ? `${what}: a unit would take over 95 years. Use a shorter per.`
      : `${what}: ${burst} units would take over 95 years. Use a burst of ${most} or less.`,
  )
}
