import { formatValue, QuotaError } from '../common/errors.ts'
import { checkCount, checkNames } from '../common/options.ts'
import { micros } from '../common/time.ts'
import { checkStoreError } from '../policies/failure-mode.ts'
import { REMOTE_DEFAULTS, type StoreOptions, withRemoteConfig } from '../policies/store-config.ts'
import type { Store } from '../stores/store.ts'
import { checkIsStore, isSync } from '../stores/store-kinds.ts'
import { REMOTE_CALLS } from './remote-calls.ts'

/** Options of `remoteStore`: those of its limiters that set none of their own. */
export type RemoteStoreOptions = Pick<StoreOptions, 'deadline' | 'onStoreError' | 'replicas'>

const OPTIONS = ['deadline', 'onStoreError', 'replicas']

/**
 * Gives a store that answers late what a lean limiter needs: a deadline, a circuit breaker, a failure mode, and refunds of what
 * it takes late. `rateLimiter` of `@spillway/core` brings all of it for any store. Returns the store itself. Throws a `QuotaError`
 * if the store is in memory, or an option is invalid.
 */
export function remoteStore<S extends Store>(store: S, options: RemoteStoreOptions = {}): S {
  checkIsStore('the store of remoteStore', store)
  checkNames('remoteStore', options, OPTIONS)
  const problem = isSync(store)
    ? 'it answers in the same tick, and needs none of this. Give it to the limiter itself'
    : Object.isExtensible(store)
      ? undefined
      : 'it is frozen. Pass a copy: { ...store }'
  if (problem !== undefined) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `remoteStore cannot take ${formatValue(store)}: ${problem}.`)
  }
  const { deadline, onStoreError, replicas } = options
  return withRemoteConfig(store, {
    calls: REMOTE_CALLS,
    deadline: deadline === undefined ? REMOTE_DEFAULTS.deadline : micros(deadline, 'deadline'),
    onStoreError: checkStoreError(onStoreError ?? REMOTE_DEFAULTS.onStoreError),
    replicas: checkCount('replicas', replicas ?? REMOTE_DEFAULTS.replicas, 1),
  })
}

/** The same with the defaults and without checks, for the stores of our packages. */
export const withRemoteDefaults = <S extends Store>(store: S): S =>
  withRemoteConfig(store, { calls: REMOTE_CALLS, ...REMOTE_DEFAULTS })
