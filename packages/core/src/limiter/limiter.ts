import { decideNow } from '../checks/acquisition.ts'
import { actualsOf, type Costs, costsOf, type NamedPolicies } from '../checks/costs.ts'
import { type ConsumeSync, remoteFastPath, syncFastPath } from '../checks/fast-path.ts'
import { spilling } from '../checks/spill.ts'
import { type MaybePromise, promised } from '../common/maybe-promise.ts'
import { checkOptions } from '../common/options.ts'
import { processState } from '../common/process-state.ts'
import type { Decision } from '../decisions/decision.ts'
import { reportPolicies } from '../policies/on-policies.ts'
import type { PolicyCheck } from '../policies/policy.ts'
import { storeConfigOf } from '../policies/store-config.ts'
import { shownPolicies } from '../quotas/block-list.ts'
import { needsUnits, type Verb } from '../steps/step-options.ts'
import { checkCost, checkKey, checkUnits } from '../steps/verbs.ts'
import { register } from '../stores/registry.ts'
import { isSync, type StateKey, type SyncStore } from '../stores/store.ts'
import { type Blocks, blocksOf } from './block.ts'
import { checkLimiterOptions, namedPolicies, type RateLimiterOptions } from './limiter-options.ts'
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
  const named = namedPolicies(options, storeConfig)
  const { policies, targets } = named
  register(policies.map(({ name, quota }) => ({ store, name, quota })))
  const { blocks } = options
  reportPolicies(
    shownPolicies(policies).map(({ name, quota }, i) => ({
      name,
      quota,
      spill: policies[targets[i] ?? -1]?.name,
      ...(blocks && { blocks }),
    })),
  )
  const checksFor = (verb: Verb, key: string, cost: number | Costs): readonly PolicyCheck[] => {
    checkKey(key)
    const costs = costsOf(named, cost, verb)
    const checks = policies.map((policy, i): PolicyCheck | undefined =>
      costs[i] === undefined ? undefined : { policy, key, cost: checkCost(costs[i], policy.quota, verb) },
    )
    // What is named is charged and refunded itself, and a spill policy is consumed by itself if its source is left out.
    const isApart = typeof cost !== 'number' && !needsUnits(verb)
    return spilling(
      checks,
      targets.map((target, i) => (isApart || !checks[i] ? -1 : target)),
    )
  }
  const run = (verb: Verb, key: string, cost: number | Costs): MaybePromise<Decision> =>
    decideNow(verb, checksFor(verb, key, cost))

  const general = (key: string, cost: number | Costs = 1): MaybePromise<Decision> => run('consume', key, cost)
  const isWatched = storeConfig.thresholds !== undefined
  const consume = (isSync(store) || isWatched ? undefined : remoteFastPath(named)) ?? general

  const limiter: RateLimiter = {
    ...reportsOf(policies),
    consume: (key, cost) => promised(consume, key, cost),
    consumeUpTo: async (key, units) => consumeUpTo(checksFor('consume', key, checkUnits(units))),
    peek: (key, cost = 1) => promised(run, 'peek', key, cost),
    refund: (key, cost = 1) => promised(run, 'refund', key, cost),
    charge: (key, cost = 1) => promised(run, 'charge', key, cost),
    reserve: async (key, options = {}) => {
      checkOptions('reserve', options, ['cost', 'maxWait'])
      const checks = checksFor('consume', key, options.cost ?? 1)
      return reserve(checks, maxWaitMicros(options.maxWait), (actual) => actualsOf(named, actual))
    },
    wait: async (key, options = {}) => {
      checkOptions('wait', options, ['cost', 'maxWait', 'signal'])
      return wait(
        checksFor('consume', key, options.cost ?? 1),
        maxWaitMicros(options.maxWait),
        checkSignal(options.signal),
      )
    },
    reset: async (key) => {
      checkKey(key)
      return resetKey(policies.map((policy) => ({ policy: policy.name, key })) as [StateKey], storeConfig)
    },
    resetAll: async (policy) => resetAll(policies, store, policy),
    ...blocksOf(policies),
  }
  const fastPath = isSync(store) && options.spill === undefined && !isWatched ? syncFastPath(store, named) : undefined
  const built = isSync(store) ? { ...limiter, ...syncVerbs(fastPath ?? (general as ConsumeSync)) } : limiter
  internals().set(built, { ...named, checksFor })
  return built
}

/** The verbs of an in-memory store: `consume` is `consumeSync` as an async function. */
function syncVerbs(consumeSync: ConsumeSync): Pick<SyncRateLimiter, 'consume' | 'consumeSync'> {
  // Engines inline an async function: `promised` takes a third longer.
  return { consumeSync, consume: async (key, cost) => consumeSync(key, cost) }
}

/** What `consumeAll` needs of a limiter. */
export interface LimiterInternals extends NamedPolicies {
  readonly checksFor: (verb: Verb, key: string, cost: number | Costs) => readonly PolicyCheck[]
}

/** The internals of limiters. */
export const internals = (): WeakMap<RateLimiter, LimiterInternals> => processState('limiters', () => new WeakMap())
