import { checkQuota, stepFor } from '../algorithms/algorithm.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import { invalidOption, QuotaError } from '../common/errors.ts'
import { checkOptions } from '../common/guess.ts'
import { checkCount, checkFunctions } from '../common/options.ts'
import { monotonicMs } from '../common/time.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import type { Store } from '../stores/store.ts'
import { checkIsStore } from '../stores/store-kinds.ts'
import { partsOf, scaleOf } from './lease.ts'
import { type LeasingStore, leasing } from './leasing.ts'
import { holdOf, isShareable } from './share.ts'
import type { BatchingStore } from './share-grant.ts'
import { shareServer } from './share-server.ts'

/** Options of `withSharedQuota`. */
export interface SharedQuotaOptions {
  /**
   * The part of a quota that a process may hold, and for how long: 0.01 is 1 % of the units, for 1 % of the time in which the
   * bucket refills. So much of the burst is not shared. More than 0, and at most 0.5.
   * @default `0.01`
   */
  readonly margin?: number
  /**
   * A monotonic clock in milliseconds, for tests.
   * @default `performance.now`
   */
  readonly stopwatch?: () => number
}

/** Options of `sharedQuotaBounds`. */
export interface SharedQuotaBoundsOptions extends Pick<SharedQuotaOptions, 'margin'> {
  /** How many processes share the quota: a whole number, 1 or more. */
  readonly processes: number
}

/** What a shared quota admits and costs, per key. */
export interface SharedQuotaBounds {
  /** How long a process may hold units, in milliseconds. */
  readonly holdMs: number
  /** The most units that a process holds. 0 if the quota is not shared: each request is a call then. */
  readonly held: number
  /**
   * The most units beyond the quota in any span of time, if some of the requests of a key are sent to the store one by one:
   * those with several policies, reservations, charges, and those that are alone in their process for `holdMs`. If all are
   * shared, it is 0.
   */
  readonly overAdmission: number
  /** The most units that a request can be denied for although the quota has them: what is not shared, and what others hold. */
  readonly underAdmission: number
  /**
   * The most store calls a second at a steady demand of more than a request a second in each process. `Infinity` if the quota
   * is not shared.
   */
  readonly callsPerSecond: number
}

/** How long an unused share is kept before it is returned. */
const IDLE_MS = 1_000

/**
 * Returns a store of which each process holds a share: it consumes units for a while in advance, by its own demand, and spends
 * or denies in this process. A process calls the store about once in `margin` of the time in which the bucket refills, per key,
 * whether the key is below or above its quota. A request that is alone in that time, or comes more than a second after the last
 * one, is a call.
 *
 * It allows no more than the bucket does. A share is smaller than asked for if the bucket is nearly empty. Then its process
 * denies what the share does not suffice for until it asks again, and reports that time as the wait. The next share is
 * acquired before the last one is used up, so that few requests wait for the store.
 *
 * Token buckets that refill continuously are shared if `margin` of them is two requests or more. All other requests are sent to
 * the store one by one. See `sharedQuotaBounds` for the numbers.
 *
 * Throws a `QuotaError` if an option is invalid, or if the store takes one batch at a time.
 */
export function withSharedQuota(store: Store, options: SharedQuotaOptions = {}): LeasingStore {
  checkIsStore('the store of withSharedQuota', store)
  checkOptions('withSharedQuota', options, ['margin', 'stopwatch'])
  checkFunctions(options, ['stopwatch'])
  const { stopwatch = monotonicMs } = options
  const bounds = { margin: checkMargin('withSharedQuota', options.margin), idleMs: IDLE_MS }
  if (!isBatching(store)) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      'withSharedQuota: this store takes one batch at a time. Share a store with takeEach, such as redisStore(client) or postgresStore(pool).',
    )
  }
  return leasing(store, { ...bounds, stopwatch }, (leasing) => shareServer(store, bounds, stopwatch, leasing))
}

/**
 * Returns what `withSharedQuota` admits and costs: for `perMinute(60_000)` and the default `margin`, a process holds at
 * most 600 units for 600 ms, and calls the store at most 3.4 times a second, per key.
 *
 * Throws a `QuotaError` if an option is invalid.
 */
export function sharedQuotaBounds(quota: Quota, options: SharedQuotaBoundsOptions): SharedQuotaBounds {
  checkQuota('the quota of sharedQuotaBounds', quota)
  checkOptions('sharedQuotaBounds', options, ['processes', 'margin'])
  const processes = checkCount('sharedQuotaBounds processes', options.processes, 1)
  const margin = checkMargin('sharedQuotaBounds', options.margin)
  const step = stepFor(quota, 'consume', 1)
  const hold = step.kernel === 'bucket' ? holdOf(step, margin) : 0
  if (step.kernel !== 'bucket' || step.start !== null || !isShareable(step, hold)) {
    return { holdMs: 0, held: 0, overAdmission: 0, underAdmission: 0, callsPerSecond: Number.POSITIVE_INFINITY }
  }
  const held = unitsOf(step, hold)
  return {
    holdMs: hold / 1000,
    held,
    overAdmission: held,
    underAdmission: Math.min(processes * held, quota.limit),
    callsPerSecond: (2e6 * processes) / hold,
  }
}

const isBatching = (store: Store): store is BatchingStore => store.takeEach !== undefined

/** The units that refill in `hold`, rounded up. */
const unitsOf = (step: BucketStep, hold: number): number => Math.ceil((hold * scaleOf(step)) / partsOf(step))

function checkMargin(what: string, margin: unknown = 0.01): number {
  if (typeof margin === 'number' && margin > 0 && margin <= 0.5) return margin
  throw invalidOption(`${what} margin must be a number above 0 and at most 0.5, such as 0.01 for 1 %`, margin)
}
