import { checkCount, checkFunctions } from '../common/options.ts'
import { micros } from '../common/time.ts'
import { checkLogger } from '../common/warn.ts'
import { checkStoreError } from '../policies/failure-mode.ts'
import type { StoreCalls, StoreConfig } from '../policies/policy.ts'
import { checkStore, REMOTE_DEFAULTS, remoteConfigOf, type StoreOptions } from '../policies/store-config.ts'
import { SYNC_CALLS } from '../policies/sync-calls.ts'
import { thresholdWatch } from '../policies/thresholds.ts'
import type { Store } from '../stores/store.ts'
import { isSync } from '../stores/store-kinds.ts'
import { REMOTE_CALLS } from './remote-calls.ts'

/** Checks the options that concern the store, and applies defaults. */
export function storeConfigOf(options: StoreOptions & { readonly store: Store | undefined }): StoreConfig {
  const logger = checkLogger(options.logger)
  checkFunctions(options, ['onThreshold'])
  const brought = remoteConfigOf(options.store) ?? REMOTE_DEFAULTS
  const replicas = checkCount('replicas', options.replicas ?? brought.replicas, 1)
  const store = checkStore(options.store, logger, replicas)
  return {
    store,
    calls: callsTo(store),
    deadline: options.deadline === undefined ? brought.deadline : micros(options.deadline, 'deadline'),
    onStoreError: checkStoreError(options.onStoreError ?? brought.onStoreError),
    replicas,
    logger,
    thresholds: options.onThreshold && thresholdWatch(options.onThreshold, logger),
  }
}

/** The same for another store. */
export function onStore(store: Store, config: StoreConfig): StoreConfig {
  const checked = checkStore(store, config.logger, config.replicas)
  return { ...config, store: checked, calls: callsTo(checked) }
}

const callsTo = (store: Store): StoreCalls => (isSync(store) ? SYNC_CALLS : REMOTE_CALLS)
