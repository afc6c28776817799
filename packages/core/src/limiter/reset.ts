import { formatValue, QuotaError } from '../common/errors.ts'
import type { StoreConfig } from '../policies/store-config.ts'
import { asStoreError, breakerOf } from '../stores/breaker.ts'
import { deadlineIn } from '../stores/deadline.ts'
import { localStoreOf } from '../stores/local-store.ts'
import { isSync, type StateKey, type Store } from '../stores/store.ts'
import { checkDeleted } from '../stores/store-call.ts'

/** Deletes states of one key in a store and in the local store; resolves with whether there was any. */
export async function resetKey(
  names: readonly [StateKey, ...StateKey[]],
  { store, deadline, logger }: Pick<StoreConfig, 'store' | 'deadline' | 'logger'>,
): Promise<boolean> {
  if (isSync(store)) return checkDeleted(store.deleteSync(names)) > 0
  const local = localStoreOf(store).deleteSync(names)
  const until = deadlineIn(deadline)
  const stored = await breakerOf(store).call(names[0], () => store.delete(names, until), until, logger, checkDeleted)
  return local + stored > 0
}

/** Deletes all states of the named policy, or of all, in the store and in the local store. */
export async function resetAll(names: readonly string[], store: Store, named: string | undefined): Promise<number> {
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
    return local + checkDeleted(await store.deleteAll(due))
  } catch (error) {
    throw asStoreError(error)
  }
}
