import { NONE } from '../../algorithms/decision-of.ts'
import { isCounted } from '../../algorithms/merge.ts'
import { type Duration, micros } from '../../common/time.ts'
import { checkLogger, type Logger } from '../../common/warn.ts'
import { acquiring } from '../../http/pipeline/calls.ts'
import { withRetryAfter } from '../../http/pipeline/headers.ts'
import { waitMsOf } from '../../http/pipeline/listed-headers.ts'
import { problemTypes } from '../../http/pipeline/problem-types.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { checkStoreError, type StoreErrorOption } from '../../policies/failure-mode.ts'
import type { StoreConfig } from '../../policies/policy.ts'
import type { StoreOptions } from '../../policies/store-config.ts'
import { onStore, storeConfigOf } from '../../remote/store-config.ts'
import { storeOr } from '../../stores/default-store.ts'
import { register as registerStates } from '../../stores/registry.ts'
import type { Store } from '../../stores/store.ts'
import { isSync } from '../../stores/store-kinds.ts'

/** The option for the store of all policies. */
export interface OneStoreOptions {
  /**
   * The store of the counts, such as `redisStore(client)`; `undefined` selects the default.
   * @default a `memoryStore()` of its own
   */
  readonly store?: Store | undefined
}

/** The options for the store of one policy. */
export interface OwnStoreOptions {
  /**
   * The store of this policy's counts; `undefined` selects the default.
   * @default the limiter's `store`
   */
  readonly store?: Store | undefined
  /**
   * The time to wait for a remote store. Policies that one store checks together share the shortest deadline.
   * @default the limiter's `deadline`
   */
  readonly deadline?: Duration
  /**
   * The decision while the store does not answer.
   * @default the limiter's `onStoreError`
   */
  readonly onStoreError?: StoreErrorOption
}

/** The types of its options. */
export interface StoreTypes extends OptionTypes {
  readonly limiter: StoreOptions & OneStoreOptions
  readonly policy: OwnStoreOptions
}

/** `store`, `deadline`, `onStoreError`, `replicas`, `onThreshold`: any store, and several of them. */
export const stores: Feature<StoreTypes> = {
  name: 'stores',
  options: ['store', 'deadline', 'onStoreError', 'replicas', 'onThreshold'],
  policyOptions: ['store', 'deadline', 'onStoreError'],
  layers: { store, policy, denial: problemTypes, register, enforce: acquiring, headers },
}

function store<R, S>(): Seams<R, S>['store'] {
  return (options, defaultStore) => {
    const given = options as OneStoreOptions & { readonly logger?: Logger }
    const store = defaultStore ? storeOr(given.store, defaultStore, checkLogger(given.logger)) : given.store
    return storeConfigOf({ ...given, store })
  }
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) =>
    next(options, { ...building, storeConfig: ownStoreConfig(options as OwnStoreOptions, building.storeConfig) })
}

/** The limiter's store and failure mode, but for what the policy sets itself. */
const ownStoreConfig = ({ store, deadline, onStoreError }: OwnStoreOptions, storeConfig: StoreConfig): StoreConfig => ({
  ...(store === undefined ? storeConfig : onStore(store, storeConfig)),
  ...(deadline !== undefined && { deadline: micros(deadline, 'deadline') }),
  ...(onStoreError !== undefined && { onStoreError: checkStoreError(onStoreError) }),
})

function register<R, S>(): Seams<R, S>['register'] {
  return registerStates
}

/** While the store does not answer, a policy has numbers only if this process counts it. */
function headers<R, S>(next: Seams<R, S>['headers']): Seams<R, S>['headers'] {
  return (policies, options) => {
    const whileAnswering = next(policies, options)
    if (policies.length > 1 || policies.every(({ storeConfig }) => isSync(storeConfig.store))) return whileAnswering
    return (acquisition, names) => {
      const { decision } = acquisition
      return isCounted(decision) ? whileAnswering(acquisition, names) : withRetryAfter(NONE, waitMsOf(decision))
    }
  }
}
