import type { Decision } from '../algorithms/decision.ts'
import { checkKey, checkUnits } from '../algorithms/verbs.ts'
import { QuotaError } from '../common/errors.ts'
import { checkNames } from '../common/options.ts'
import { checkLogger } from '../common/warn.ts'
import type { Step, Taken } from '../kernels/kernel.ts'
import { reportPolicies } from '../policies/on-policies.ts'
import type { Policy, StoreConfig } from '../policies/policy.ts'
import { policyOf } from '../policies/policy-of.ts'
import { checkStore, remoteConfigOf } from '../policies/store-config.ts'
import type { StateKey, Store, SyncStore } from '../stores/store.ts'
import { isSync, preparesTakes } from '../stores/store-kinds.ts'
import { internals } from './internals.ts'
import type { LeanLimiter, LeanLimiterOptions, SyncLeanLimiter } from './lean-limiter-types.ts'

/** Builds a lean limiter on an in-memory store. Throws a `QuotaError` if an option is invalid. */
export function rateLimiter(options: LeanLimiterOptions & { readonly store: SyncStore }): SyncLeanLimiter
/** Builds a lean limiter on any store. Throws a `QuotaError` if an option is invalid. */
export function rateLimiter<S extends Store>(options: LeanLimiterOptions<S>): LeanLimiter
export function rateLimiter(options: LeanLimiterOptions): LeanLimiter {
  checkNames('rateLimiter', options, ['quota', 'name', 'store', 'logger'], broughtBy)
  const logger = checkLogger(options.logger)
  const store = checkStore(options.store, logger, 1)
  const remote = remoteConfigOf(store)
  if (!isSync(store) && remote === undefined) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', 'this store answers late. Write store: remoteStore(store).')
  }
  // An in-memory store needs no more of a configuration.
  const config = { replicas: 1, ...remote, store, logger } as StoreConfig
  const policy = policyOf(options.name ?? 'default', options.quota, config)
  reportPolicies([policy])
  const limiter = isSync(store) ? onSyncStore(policy, store) : onRemoteStore(policy)
  internals().set(limiter, { policy })
  return limiter
}

/** What brings an option that only the full limiter has. */
const broughtBy = (option: string): string | undefined =>
  ['deadline', 'onStoreError', 'replicas'].includes(option)
    ? `Write store: remoteStore(store, { ${option} }).`
    : ['quotas', 'spill', 'blocks', 'onThreshold'].includes(option)
      ? "The rateLimiter of '@spillway/core' has it."
      : undefined

function onSyncStore({ name, oneUnit, costing }: Policy, store: SyncStore): SyncLeanLimiter {
  const clock = preparesTakes(store) ? store.clock : undefined
  const stateOf = (key: string): StateKey => ({ policy: name, key: checkKey(key) })
  const takeOnce = (key: string, step: Step): Taken => store.takeSync([{ ...stateOf(key), step }])[0] as Taken
  const consume: SyncLeanLimiter['consumeSync'] = (key, cost = 1) => {
    const { take, step, decide } = costing(cost)
    return decide(clock ? take.take(checkKey(key), clock()) : takeOnce(key, step))
  }
  const { take, decide } = oneUnit
  const consumeSync = (clock && take.consumer?.<number>(clock, decide, consume)) ?? consume
  return {
    consumeSync,
    consume: async (key, cost) => consumeSync(key, cost),
    peek: async (key, cost = 1) => {
      const { step, decide } = costing(cost)
      return decide(takeOnce(key, peekOf(step)))
    },
    reset: async (key) => store.deleteSync([stateOf(key)]) > 0,
  }
}

const peekOf = (step: Step): Step =>
  step.kernel === 'penalty' ? { ...step, peek: true, extend: false } : { ...step, peek: true }

function onRemoteStore(policy: Policy): LeanLimiter {
  const { storeConfig } = policy
  const decide = async (verb: 'consume' | 'peek', key: string, cost = 1): Promise<Decision> => {
    const check = { policy, key: checkKey(key), cost: checkUnits(cost) }
    return (await storeConfig.calls.decide([check], verb)).decisions[0] as Decision
  }
  return {
    consume: (key, cost) => decide('consume', key, cost),
    peek: (key, cost) => decide('peek', key, cost),
    reset: async (key) =>
      (await storeConfig.calls.delete([{ policy: policy.name, key: checkKey(key) }], storeConfig)) > 0,
  }
}
