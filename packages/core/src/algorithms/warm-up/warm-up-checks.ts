import { areWhole } from '../../common/options.ts'
import { LONGEST } from '../../common/time.ts'
import { spanOf } from '../../kernels/fraction.ts'
import { LONGEST_WARM_UP } from '../../kernels/warm-up.ts'
import type { QuotaChecks } from '../algorithm.ts'
import type { WarmUpQuota } from '../quota-types.ts'

export const warmUpChecks: QuotaChecks<WarmUpQuota> = {
  isComplete: ({ limit, burst, window, ticksPerUnit, scale, half }) =>
    areWhole(limit, burst, window, ticksPerUnit, scale, half),
  agree: ({ limit, burst, window, ticksPerUnit, scale, half }) =>
    limit === 1 &&
    burst <= (LONGEST * scale) / ticksPerUnit &&
    window === spanOf(1, ticksPerUnit, scale).tick &&
    2 * half <= LONGEST_WARM_UP + 1,
}
