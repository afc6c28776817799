import { knownAlgorithms } from '../algorithms/algorithm.ts'
import type { Decision } from '../algorithms/decision.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import { QuotaError } from '../common/errors.ts'
import { checkOptions } from '../common/guess.ts'
import { promised } from '../common/maybe-promise.ts'
import type { Costs } from '../policies/costs.ts'
import { storeConfigOf } from '../remote/store-config.ts'
import type { SyncStore } from '../stores/store.ts'
import { isSync } from '../stores/store-kinds.ts'
import { activate, type Consume, checksOf } from './active-quotas.ts'
import type { Blocks } from './block.ts'
import { internals, type LimiterInternals } from './internals.ts'
import {
  checkLimiterOptions,
  NO_QUOTAS,
  QUOTA_OPTIONS,
  type QuotaOptions,
  type RateLimiterOptions,
} from './limiter-options.ts'
import { type LimiterReports, reportsOf } from './limiter-reports.ts'
import type { Reservation, ReserveOptions } from './reservation.ts'
import type { SlotHolder, SlotsOptions } from './slot-holder.ts'
import type { UpToDecision } from './up-to.ts'
import { block, consumeUpTo, reserve, reset, resetAll, run, unblock, wait } from './verbs.ts'
import type { WaitOptions } from './wait.ts'

/** A limiter: counts keys against one quota, or several, which are consumed all-or-nothing. */
export interface RateLimiter extends LimiterReports, Blocks {
  /**
   * Consumes `cost` units (default: 1) if they are available. A denial is a decision, not an error. If the store fails,
   * `onStoreError` decides.
   *
   * A number is the cost of all quotas. `{ requests: 1, tokens: 4000 }` has a cost for each: a quota that is not named
   * costs 1, and 0 leaves it out. `refund` and `charge` change only the quotas that are named.
   */
  consume(key: string, cost?: number | Costs): Promise<Decision>
  /**
   * Consumes as many units as are available, up to `units`, in one step of the store: `consumed` is their number. Denied if
   * it is 0. Of several quotas, the one with the fewest units decides. An overdraft is not used.
   */
  consumeUpTo(key: string, units: number): Promise<UpToDecision>
  /** Returns the decision of `consume`, without consuming. `remaining` is the number of units before the request. */
  peek(key: string, cost?: number | Costs): Promise<Decision>
  /** Refunds `cost` units (default: 1), until the quota is full. */
  refund(key: string, cost?: number | Costs): Promise<Decision>
  /** Consumes `cost` units (default: 1), even if they are not available. The deficit is a debt that later requests wait for. */
  charge(key: string, cost?: number | Costs): Promise<Decision>
  /** Consumes units in advance; `delayMs` is the wait until they may be used. Settle it with `commit` or `cancel`. */
  reserve(key: string, options?: ReserveOptions): Promise<Reservation>
  /** Resolves when it is the caller's turn, in the order of the calls. Rejects at once if the wait is longer than `maxWait`. */
  wait(key: string, options?: WaitOptions): Promise<Decision>
  /**
   * Resets a key: callers of this process get new turns. Resolves with whether a policy had a state of it. Rejects with a
   * `StoreError` if the store fails.
   */
  reset(key: string): Promise<boolean>
  /**
   * Resets all keys, of one policy if it is named, and resolves with the number of states deleted. No deadline applies: a
   * remote store deletes in many small steps. Rejects with a `QuotaError` if the store cannot list its states.
   */
  resetAll(policy?: string): Promise<number>
  /**
   * Replaces the quotas, from the next call on: `limiter.replace({ quota: perMinute(200) })`. A quota that keeps its name keeps
   * its counts, and callers their turns. Throws a `QuotaError`, and changes nothing, if a quota is invalid.
   */
  replace(quotas: QuotaOptions): void
}

/** A limiter on an in-memory store: it can also decide without a promise. */
export interface SyncRateLimiter extends RateLimiter {
  /** The decision of `consume`, without a promise. */
  consumeSync(key: string, cost?: number | Costs): Decision
}

/** Builds a limiter with slots on an in-memory store. Throws a `QuotaError` if an option is invalid. */
export function rateLimiter<Q extends Readonly<Record<string, Quota>>>(
  options: SlotsOptions<Q> & { readonly store: SyncStore },
): SyncRateLimiter & SlotHolder
/** Builds a limiter with slots on any store. Throws a `QuotaError` if an option is invalid. */
export function rateLimiter<Q extends Readonly<Record<string, Quota>>>(
  options: SlotsOptions<Q>,
): RateLimiter & SlotHolder
/** Builds a limiter on an in-memory store. Throws a `QuotaError` if an option is invalid. */
export function rateLimiter(options: RateLimiterOptions & { readonly store: SyncStore }): SyncRateLimiter
/** Builds a limiter on any store. Throws a `QuotaError` if an option is invalid. */
export function rateLimiter(options: RateLimiterOptions): RateLimiter
export function rateLimiter(options: RateLimiterOptions): RateLimiter | SyncRateLimiter {
  checkLimiterOptions(options)
  const storeConfig = storeConfigOf(options)
  let active = activate(options, storeConfig)
  const own: LimiterInternals = {
    storeConfig,
    active: () => active,
    checksOf,
    replace: (quotas) => {
      checkOptions('replace', quotas, QUOTA_OPTIONS)
      const replaced = { ...options, ...NO_QUOTAS, ...quotas } as RateLimiterOptions
      active = activate(replaced, storeConfig, active.registrations)
    },
  }
  const consume: Consume = (key, cost) => active.consume(key, cost)
  const limiter = Object.assign(
    reportsOf(own, options.blocks === true),
    verbsOf(own),
    ...knownAlgorithms().map(({ verbsOf }) => verbsOf?.(own)),
    isSync(storeConfig.store) ? consumingNow(consume) : consumingLater(consume),
  )
  internals().set(limiter, own)
  return limiter
}

const verbsOf = (own: LimiterInternals): Omit<RateLimiter, keyof LimiterReports | 'consume'> => ({
  consumeUpTo: (key, units) => consumeUpTo(own, key, units),
  peek: (key, cost) => run(own, 'peek', key, cost),
  refund: (key, cost) => run(own, 'refund', key, cost),
  charge: (key, cost) => run(own, 'charge', key, cost),
  reserve: (key, options) => reserve(own, key, options),
  wait: (key, options) => wait(own, key, options),
  block: (key, duration) => block(own, key, duration),
  unblock: (key) => unblock(own, key),
  reset: (key) => reset(own, key),
  resetAll: (policy) => resetAll(own, policy),
  replace: (quotas) => own.replace?.(quotas),
})

const consumingLater = (consume: Consume): Pick<RateLimiter, 'consume'> => ({
  consume: (key, cost) => promised(consume, key, cost),
})

/** The verbs of an in-memory store: `consume` is `consumeSync` as an async function. */
function consumingNow(consume: Consume): Pick<SyncRateLimiter, 'consume' | 'consumeSync'> {
  const consumeSync: SyncRateLimiter['consumeSync'] = (key, cost) => {
    const decision = consume(key, cost)
    if (!(decision instanceof Promise)) return decision
    decision.catch(() => {})
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      'consumeSync: the function that chooses the quota has returned a promise. Await consume(key) instead.',
    )
  }
  // Engines inline an async function: `promised` takes a third longer.
  return { consumeSync, consume: async (key, cost) => consume(key, cost) }
}
