import { decideNow } from '../checks/acquisition.ts'
import { actualsOf, type Costs, type NamedPolicies } from '../checks/costs.ts'
import type { ConsumeSync } from '../checks/fast-path.ts'
import { QuotaError } from '../common/errors.ts'
import { andThen, type MaybePromise, promised } from '../common/maybe-promise.ts'
import { checkOptions } from '../common/options.ts'
import { processState } from '../common/process-state.ts'
import type { Decision } from '../decisions/decision.ts'
import type { PolicyCheck } from '../policies/policy.ts'
import { storeConfigOf } from '../remote/store-config.ts'
import type { Verb } from '../steps/step-options.ts'
import { checkKey, checkUnits } from '../steps/verbs.ts'
import { isSync, type StateKey, type SyncStore } from '../stores/store.ts'
import { activate, checksOf } from './active-quotas.ts'
import { type Blocks, blocksOf } from './block.ts'
import {
  checkLimiterOptions,
  NO_QUOTAS,
  QUOTA_OPTIONS,
  type QuotaOptions,
  type RateLimiterOptions,
} from './limiter-options.ts'
import { type LimiterReports, reportsOf } from './limiter-reports.ts'
import { maxWaitMicros, type Reservation, type ReserveOptions, reserve } from './reservation.ts'
import { resetAll, resetKey } from './reset.ts'
import { consumeUpTo, type UpToDecision } from './up-to.ts'
import { checkSignal, type WaitOptions, wait } from './wait.ts'

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
   * Resets a key, which becomes new. Resolves with whether any policy had a state of it, which may have been full again.
   * Rejects with a `StoreError` if the store fails.
   */
  reset(key: string): Promise<boolean>
  /**
   * Resets all keys, of one policy if it is named, and resolves with the number of states deleted. No deadline applies: a
   * remote store deletes in many small steps. Rejects with a `QuotaError` if the store cannot list its states.
   */
  resetAll(policy?: string): Promise<number>
  /**
   * Replaces the quotas, from the next call on: `limiter.replace({ quota: perMinute(200) })`. A quota that keeps its name keeps
   * its counts. Throws a `QuotaError` if a quota is invalid: then nothing has changed.
   */
  replace(quotas: QuotaOptions): void
}

/** A limiter on an in-memory store: it can also decide without a promise. */
export interface SyncRateLimiter extends RateLimiter {
  /** The decision of `consume`, without a promise. */
  consumeSync(key: string, cost?: number | Costs): Decision
}

/** Builds a limiter on an in-memory store. Throws a `QuotaError` if an option is invalid. */
export function rateLimiter(options: RateLimiterOptions & { readonly store: SyncStore }): SyncRateLimiter
/** Builds a limiter on any store. Throws a `QuotaError` if an option is invalid. */
export function rateLimiter(options: RateLimiterOptions): RateLimiter
export function rateLimiter(options: RateLimiterOptions): RateLimiter | SyncRateLimiter {
  checkLimiterOptions(options)
  const storeConfig = storeConfigOf(options)
  const { store } = storeConfig
  let active = activate(options, storeConfig)
  const forKey = (key: string): MaybePromise<NamedPolicies> => active.forKey(key)
  const checksFor = (verb: Verb, key: string, cost: number | Costs): MaybePromise<readonly PolicyCheck[]> =>
    andThen(forKey(key), (named) => checksOf(named, verb, key, cost))
  const run = (verb: Verb, key: string, cost: number | Costs): MaybePromise<Decision> =>
    andThen(checksFor(verb, key, cost), (checks) => decideNow(verb, checks))
  const consume = (key: string, cost?: number | Costs): MaybePromise<Decision> => active.consume(key, cost)
  const limiter: RateLimiter = Object.assign(
    reportsOf(() => active.policies, forKey),
    {
      ...blocksOf(forKey),
      consume: (key: string, cost?: number | Costs) => promised(consume, key, cost),
      consumeUpTo: async (key: string, units: number) =>
        consumeUpTo(await checksFor('consume', key, checkUnits(units))),
      peek: (key: string, cost: number | Costs = 1) => promised(run, 'peek', key, cost),
      refund: (key: string, cost: number | Costs = 1) => promised(run, 'refund', key, cost),
      charge: (key: string, cost: number | Costs = 1) => promised(run, 'charge', key, cost),
      reserve: async (key: string, options: ReserveOptions = {}) => {
        checkOptions('reserve', options, ['cost', 'maxWait'])
        const named = await forKey(key)
        const checks = checksOf(named, 'consume', key, options.cost ?? 1)
        return reserve(checks, maxWaitMicros(options.maxWait), (actual: number | Costs | undefined) =>
          actualsOf(named, actual),
        )
      },
      wait: (key: string, options: WaitOptions = {}) =>
        promised(() => {
          checkOptions('wait', options, ['cost', 'maxWait', 'signal'])
          const [maxWait, signal] = [maxWaitMicros(options.maxWait), checkSignal(options.signal)]
          return andThen(checksFor('consume', key, options.cost ?? 1), (checks) => wait(checks, maxWait, signal))
        }),
      reset: async (key: string) => {
        checkKey(key)
        return resetKey(active.names.map((policy) => ({ policy, key })) as [StateKey], storeConfig)
      },
      resetAll: async (policy?: string) => resetAll(active.names, storeConfig, policy),
      replace: (quotas: QuotaOptions) => {
        checkOptions('replace', quotas, QUOTA_OPTIONS)
        active = activate(
          { ...options, ...NO_QUOTAS, ...quotas } as RateLimiterOptions,
          storeConfig,
          active.registrations,
        )
      },
    },
  )
  const built = isSync(store) ? Object.assign(limiter, syncVerbs(consume)) : limiter
  internals().set(built, { forKey, checksOf })
  return built
}

/** The verbs of an in-memory store: `consume` is `consumeSync` as an async function. */
function syncVerbs(
  consume: (key: string, cost?: number | Costs) => MaybePromise<Decision>,
): Pick<SyncRateLimiter, 'consume' | 'consumeSync'> {
  const consumeSync: ConsumeSync = (key, cost) => {
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

/** What `consumeAll` needs of a limiter. */
export interface LimiterInternals {
  readonly forKey: (key: string) => MaybePromise<NamedPolicies>
  readonly checksOf: typeof checksOf
}

/** The internals of limiters. */
export const internals = (): WeakMap<RateLimiter, LimiterInternals> => processState('limiters', () => new WeakMap())
