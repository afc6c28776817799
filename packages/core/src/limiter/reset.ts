import { formatValue, QuotaError } from '../common/errors.ts'
import type { DeletingStore, StoreConfig } from '../policies/policy.ts'
import { asStoreError } from '../stores/answers.ts'
import type { StateKey } from '../stores/store.ts'
import { callersFor, callersOfAll, whileHeld } from './callers.ts'

/** Deletes states of one key in a store and in the local store; resolves with whether there was any. */
export async function resetKey(names: readonly [StateKey, ...StateKey[]], config: StoreConfig): Promise<boolean> {
  return whileHeld(
    names.flatMap((state) => callersFor(config.store, state)),
    async () => (await config.calls.delete(names, config)) > 0,
  )
}

/** Deletes all states of the named policy, or of all, in the store and in the local store. */
export async function resetAllOf(
  names: readonly string[],
  { store, calls }: Pick<StoreConfig, 'store' | 'calls'>,
  named: string | undefined,
): Promise<number> {
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
  try {
    const deleted = named === undefined ? names : [named]
    return await whileHeld(callersOfAll(store, deleted), () => calls.deleteAll(deleted, store as DeletingStore))
  } catch (error) {
    throw asStoreError(error)
  }
}
