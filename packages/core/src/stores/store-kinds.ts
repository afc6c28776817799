import { invalidOption } from '../common/errors.ts'
import { checkFunctions } from '../common/options.ts'
import type { PreparingStore, Store, StoreScope, SyncStore } from './store.ts'

/**
 * A scope that prints as the kind of its store and its name: the owner is hidden from logs, because a client has the password
 * of its connection.
 */
export const printableScope = (kind: string, owner: object, name: string): StoreScope =>
  Object.defineProperty({ kind, name }, 'owner', { value: owner }) as unknown as StoreScope

/** The scope of a store. */
export const scopeOf = (store: Store): StoreScope => store.scope ?? { owner: store, name: '' }

/** The `maxLogLimit` of remote stores. A log of 10,000 entries blocks Redis for 3 ms and PostgreSQL for 30 ms a take. */
export const REMOTE_LOG_LIMIT = 1_000

/** Reports whether a store can answer without a promise. */
export function isSync(store: Store): store is SyncStore {
  return (store as SyncStore | undefined)?.takeSync !== undefined
}

/** Throws a QuotaError if a value is not a store; `what` names the function or option in the error. */
export function checkIsStore(what: string, store: unknown): asserts store is Store {
  const { take, delete: remove } = (store ?? {}) as Partial<Record<keyof Store, unknown>>
  if (typeof take === 'function' && typeof remove === 'function') {
    if (isSync(store as Store)) checkFunctions(store as SyncStore, ['takeSync', 'deleteSync'], true)
    return
  }
  throw invalidOption(
    `${what} must be a store, such as memoryStore(), or redisStore(client) from @spillway/redis`,
    store,
  )
}

/** Reports whether a store prepares takes. */
export const preparesTakes = (store: Store): store is PreparingStore => {
  const { clock, prepareSync } = store as SyncStore
  return Boolean(clock && prepareSync)
}
