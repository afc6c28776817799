import { decideNow } from './acquisition.ts'
import { asStoreError, breakerOf } from './breaker.ts'
import { deadlineIn } from './deadline.ts'
import type { Decision } from './decision.ts'
import { formatValue, QuotaError } from './errors.ts'
import { type ConsumeSync, remoteFastPath, syncFastPath } from './fast-path.ts'
import { localStoreOf } from './local-store.ts'
import { type MaybePromise, promised } from './maybe-promise.ts'
import { checkOptions } from './options.ts'
import { type Policy, type PolicyCheck, policyOf } from './policy.ts'
import { processState } from './process-state.ts'
import type { Quota } from './quota-types.ts'
import { register } from './registry.ts'
import { maxWaitMicros, type Reservation, type ReserveOptions, reserve } from './reservation.ts'
import { checkSpill, spilling, type Targets } from './spill.ts'
import { isSync, type StateKey, type Store, type SyncStore } from './store.ts'
import { STORE_OPTIONS, type StoreConfig, type StoreOptions, storeConfigOf } from './store-config.ts'
import { consumeUpTo, type UpToDecision } from './up-to.ts'
import { checkCost, checkKey, type Verb } from './verbs.ts'
import { type WaitOptions, wait } from './wait.ts'

/** A limiter: counts keys against one quota, or several, which are consumed all-or-nothing. */
export interface RateLimiter {
  /**
   * Consumes `cost` units (default: 1) if they are available. A denial is a decision, not an error. If the store fails,
   * `onStoreError` decides.
   */
  consume(key: string, cost?: number): Promise<Decision>
  /**
   * Consumes as many units as are available, up to `units`, in one step of the store: `consumed` is their number. Denied if
   * it is 0. Of several quotas, the one with the fewest units decides. An overdraft is not used.
   */
  consumeUpTo(key: string, units: number): Promise<UpToDecision>
  /** Returns the decision of `consume`, without consuming. `remaining` is the number of units before the request. */
  peek(key: string, cost?: number): Promise<Decision>
  /** Refunds `cost` units (default: 1), until the quota is full. */
  refund(key: string, cost?: number): Promise<Decision>
  /** Consumes `cost` units (default: 1), even if they are not available. The deficit is a debt that later requests wait for. */
  charge(key: string, cost?: number): Promise<Decision>
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
  consumeSync(key: string, cost?: number): Decision
}

/** Options for all quotas of a limiter. */
interface CommonOptions extends StoreOptions {
  /** Where the counts are kept. */
  readonly store: Store
  /**
   * The name of the limiter: its policy's name in decisions, and part of its states' names in the store. With `quotas`
   * it is a prefix.
   * @default `'default'`
   */
  readonly name?: string
}

/** One quota, or several under names of their own. */
export type RateLimiterOptions = CommonOptions &
  (
    | {
        /**
         * How many units per time, such as `perMinute(100)`.
         * @default required, or `quotas`
         */
        readonly quota: Quota
        readonly quotas?: never
        readonly spill?: never
      }
    | {
        /**
         * Several quotas by name, checked together: all or none is consumed.
         * @default required, or `quota`
         */
        readonly quotas: Readonly<Record<string, Quota>>
        readonly quota?: never
        /**
         * Which quota is drawn upon only if another is empty: `{ second: 'extra' }`. If `second` denies a request, its
         * units are consumed from `extra` instead.
         * @default none
         */
        readonly spill?: Readonly<Record<string, string>>
      }
  )

/** Builds a limiter on an in-memory store. Throws a `QuotaError` if an option is invalid. */
export function rateLimiter(options: RateLimiterOptions & { readonly store: SyncStore }): SyncRateLimiter
/** Builds a limiter on any store. Throws a `QuotaError` if an option is invalid. */
export function rateLimiter(options: RateLimiterOptions): RateLimiter
export function rateLimiter(options: RateLimiterOptions): RateLimiter | SyncRateLimiter {
  checkOptions('rateLimiter', options, ['quota', 'quotas', 'spill', 'name', ...STORE_OPTIONS])
  const storeConfig = storeConfigOf(options)
  const { store } = storeConfig
  const { spill } = options
  const policies = policiesOf(options, storeConfig)
  const targets = targetsOf(options)
  register(policies.map(({ name, quota }) => ({ store, name, quota })))
  const checksFor = (verb: Verb, key: string, cost: number): readonly PolicyCheck[] => {
    checkKey(key)
    const checks = policies.map((policy): PolicyCheck => ({ policy, key, cost: checkCost(cost, policy.quota, verb) }))
    return spill === undefined ? checks : spilling(checks, targets)
  }
  const run = (verb: Verb, key: string, cost: number): MaybePromise<Decision> =>
    decideNow(verb, checksFor(verb, key, cost))

  const general = (key: string, cost = 1): MaybePromise<Decision> => run('consume', key, cost)
  const consume = (isSync(store) ? undefined : remoteFastPath(policies)) ?? general

  const limiter: RateLimiter = {
    consume: (key, cost) => promised(consume, key, cost),
    consumeUpTo: (key, units) => promised((cost) => consumeUpTo(checksFor('consume', key, cost)), units),
    peek: (key, cost = 1) => promised(run, 'peek', key, cost),
    refund: (key, cost = 1) => promised(run, 'refund', key, cost),
    charge: (key, cost = 1) => promised(run, 'charge', key, cost),
    reserve: async (key, options = {}) => {
      checkOptions('reserve', options, ['cost', 'maxWait'])
      return reserve(checksFor('consume', key, options.cost ?? 1), maxWaitMicros(options.maxWait))
    },
    wait: async (key, options = {}) => {
      checkOptions('wait', options, ['cost', 'maxWait', 'signal'])
      return wait(checksFor('consume', key, options.cost ?? 1), maxWaitMicros(options.maxWait), options.signal)
    },
    reset: async (key) => {
      checkKey(key)
      const names = policies.map((policy) => ({ policy: policy.name, key }))
      if (isSync(store)) return store.deleteSync(names) > 0
      const local = localStoreOf(store).deleteSync(names)
      const [first] = names as [StateKey]
      const deadline = deadlineIn(storeConfig.deadline)
      const stored = await breakerOf(store).call(
        first,
        () => store.delete(names, deadline),
        deadline,
        storeConfig.logger,
      )
      return local + stored > 0
    },
    resetAll: async (policy) => resetAll(policies, store, policy),
  }
  const fastPath = isSync(store) && spill === undefined ? syncFastPath(store, policies) : undefined
  const built = isSync(store) ? { ...limiter, ...syncVerbs(fastPath ?? (general as ConsumeSync)) } : limiter
  internals().set(built, checksFor)
  return built
}

/** Deletes all states of the named policy, or of all, in the store and in the local store. */
async function resetAll(policies: readonly Policy[], store: Store, named: string | undefined): Promise<number> {
  const names = policies.map(({ name }) => name)
  if (named !== undefined && !names.includes(named)) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `resetAll: this limiter has no policy ${formatValue(named)}; it has ${names.map(formatValue).join(', ')}.`,
    )
  }
  if (!store.deleteAll) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      "resetAll: this store cannot list its states. Reset each key by reset(key), or give the limiter another name, such as name: 'api-2': its states are new, and those of the old name expire.",
    )
  }
  const due = named === undefined ? names : [named]
  const local = isSync(store) ? 0 : await localStoreOf(store).deleteAll(due)
  try {
    return local + (await store.deleteAll(due))
  } catch (error) {
    throw asStoreError(error)
  }
}

/** The verbs of an in-memory store: `consume` is `consumeSync` as an async function. */
function syncVerbs(consumeSync: ConsumeSync): Pick<SyncRateLimiter, 'consume' | 'consumeSync'> {
  // Engines inline an async function: `promised` takes a third longer.
  return { consumeSync, consume: async (key, cost) => consumeSync(key, cost) }
}

/** The internals of limiters for `consumeAll`. */
const internals = (): WeakMap<RateLimiter, (verb: Verb, key: string, cost: number) => readonly PolicyCheck[]> =>
  processState('limiters', () => new WeakMap())

/**
 * Consumes from several limiters, or several keys, all-or-nothing. If they share a store, this is one atomic call. If stores
 * differ, they are called one after the other, and if one denies or fails, those before it are rolled back.
 *
 * Throws a `QuotaError` if a limiter, key or cost is invalid, or a key of a policy is named twice.
 */
export async function consumeAll(
  takes: readonly (readonly [limiter: RateLimiter, key: string, cost?: number])[],
): Promise<Decision> {
  const checks = takes.flatMap(([limiter, key, cost = 1]) => {
    const checksFor = internals().get(limiter)
    if (checksFor) return checksFor('consume', key, cost)
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `consumeAll takes [limiter, key, cost] triples; got ${formatValue(limiter)} for a limiter.`,
    )
  })
  if (checks.length > 0) return decideNow('consume', checkApart(checks))
  throw new QuotaError('ERR_SPILLWAY_OPTION', 'consumeAll takes one limiter or more: consumeAll([[limiter, key]]).')
}

function checkApart(checks: readonly PolicyCheck[]): readonly PolicyCheck[] {
  const same = (a: PolicyCheck, b: PolicyCheck): boolean =>
    a.key === b.key && a.policy.name === b.policy.name && a.policy.storeConfig.store === b.policy.storeConfig.store
  const twice = checks.find((each, i) => checks.slice(0, i).some((other) => same(each, other)))
  if (twice === undefined) return checks
  const { policy, key } = twice
  throw new QuotaError(
    'ERR_SPILLWAY_KEY',
    `consumeAll names key ${formatValue(key)} of ${formatValue(policy.name)} twice. Add up the costs.`,
  )
}

/** For each quota, the index of its spill quota; -1 if it has none. */
function targetsOf({ quotas = {}, spill = {} }: RateLimiterOptions): Targets {
  const names = Object.keys(quotas)
  checkOptions('spill', spill, names)
  checkSpill(spill, names)
  return names.map((name) => (Object.hasOwn(spill, name) ? names.indexOf(spill[name] as string) : -1))
}

function policiesOf({ quota, quotas, name }: RateLimiterOptions, storeConfig: StoreConfig): readonly Policy[] {
  if (quota && quotas) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', 'rateLimiter takes quota or quotas, not both.')
  }
  if (!quotas) return [policyOf(name ?? 'default', quota as Quota, storeConfig)]
  const named = Object.entries(quotas)
  if (named.length === 0) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', 'quotas must name at least one quota: { burst: perSecond(10) }.')
  }
  return named.map(([each, quota]) => policyOf(name === undefined ? each : `${name}.${each}`, quota, storeConfig))
}
