import { QuotaError } from '../../common/errors.ts'
import { checkOptions } from '../../common/guess.ts'
import { notify } from '../../common/listener.ts'
import { checkFunctions } from '../../common/options.ts'
import { checkSignal } from '../../common/signal.ts'
import { type LimiterInternals, notALimiter } from '../../limiter/internals.ts'
import { internalsOf } from '../../limiter/internals-of.ts'
import type { LeanLimiter } from '../../limiter/lean-limiter-types.ts'
import { maxWaitMicros } from '../../limiter/reservation.ts'
import type { AcquireOptions, Slot, SlotHolder } from '../../limiter/slot-holder.ts'
import { acquireTurn, leavingBy } from '../../limiter/wait.ts'
import { acquire as acquireNow } from '../../policies/acquisition.ts'
import { rollback } from '../../policies/correct.ts'
import type { Acquisition } from '../../policies/policy.ts'
import { catchUp } from './heartbeat.ts'
import { hold, isSlots } from './held.ts'
import { warnsOfLoss } from './index.ts'

/** The verb of a full limiter. */
export const acquiring = (own: object): SlotHolder => ({
  acquire: (key, options) => acquireSlots(own as LimiterInternals, key, options),
})

/** Acquires slots of a limiter, which may be lean: see `SlotHolder`. */
export async function acquire(limiter: LeanLimiter, key: string, options?: AcquireOptions): Promise<Slot> {
  const own = internalsOf(limiter)
  if (own === undefined) throw notALimiter('acquire', limiter)
  return acquireSlots(own, key, options)
}

async function acquireSlots(own: LimiterInternals, key: string, options: AcquireOptions = {}): Promise<Slot> {
  checkOptions('acquire', options, ['cost', 'maxWait', 'signal', 'onLost'])
  checkFunctions(options, ['onLost'])
  const signal = checkSignal(options.signal)
  const maxWait = maxWaitMicros(options.maxWait ?? 0)
  if (signal?.aborted) throw signal.reason
  const checks = own.checksOf(await own.active().forKey(key), 'consume', key, options.cost ?? 1)
  if (!checks.some(isSlots)) throw noSlots()
  catchUp()
  const acquisition = await (maxWait === 0
    ? acquireNow('consume', checks)
    : acquireTurn(checks, maxWait, leavingBy(signal)))
  if (acquisition !== undefined && !signal?.aborted) return slotOf(acquisition, own, options)
  if (acquisition !== undefined) await rollback(acquisition)
  throw signal?.reason
}

const noSlots = (): QuotaError =>
  new QuotaError('ERR_SPILLWAY_OPTION', 'acquire needs a limiter with slots: rateLimiter({ quota: inFlight(10), … }).')

function slotOf(acquisition: Acquisition, { storeConfig }: LimiterInternals, { onLost }: AcquireOptions): Slot {
  let isLost = false
  const warn = warnsOfLoss(storeConfig.logger)
  const { release } = hold(acquisition, (check) => {
    isLost = true
    if (onLost === undefined) warn(check)
    else notify('onLost', onLost, undefined, storeConfig.logger)
  })
  return {
    ...acquisition.decision,
    get isLost() {
      return isLost
    },
    release,
    [Symbol.asyncDispose]: release,
  }
}
