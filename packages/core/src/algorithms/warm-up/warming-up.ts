import { invalid } from '../../common/errors.ts'
import { checkOptions } from '../../common/guess.ts'
import { checkWhole } from '../../common/options.ts'
import { micros } from '../../common/time.ts'
import { LONGEST_WARM_UP } from '../../kernels/warm-up.ts'
import { register } from '../algorithm.ts'
import { ticksOf } from '../bucket/bucket-quota.ts'
import type { WarmingUpOptions } from '../quota-options.ts'
import type { WarmUpQuota } from '../quota-types.ts'
import { warmUpAlgorithm } from './warm-up-algorithm.ts'
import { warmUpQuota } from './warm-up-quota.ts'

const warming = register('warm-up', warmUpAlgorithm)

/**
 * Returns a quota of `limit` units per `per`, evenly spaced, at a third of that rate at first. The rate rises to `limit` over
 * `warmUpPeriod`, and falls while a key is idle, as that of Guava's `RateLimiter.create(permitsPerSecond,
 * warmupPeriod)`. It allows at most `burst + limit × t / per` units in any span of time `t`. Throws a `QuotaError` if an
 * option is invalid.
 */
export function warmingUp(options: WarmingUpOptions): WarmUpQuota {
  checkOptions('warmingUp', options, ['limit', 'per', 'warmUpPeriod', 'burst'])
  const limit = checkWhole('warmingUp limit', options.limit, 1)
  const burst = checkWhole('warmingUp burst', options.burst ?? limit, 1)
  const ticks = ticksOf('warmingUp', limit, micros(options.per, 'warmingUp per'))
  const period = micros(options.warmUpPeriod, 'warmingUp warmUpPeriod')
  if (period <= LONGEST_WARM_UP)
    return warming(warmUpQuota('warmingUp', { burst, half: Math.ceil(period / 2), ...ticks }))
  throw invalid(
    'ERR_SPILLWAY_QUOTA',
    "warmingUp warmUpPeriod must be at most '2h', so that it is counted exactly",
    options.warmUpPeriod,
    "Use '2h' or less.",
  )
}
