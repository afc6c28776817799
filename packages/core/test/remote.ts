import type { Store } from '../src/index.ts'

/** The asynchronous methods of a store, which are all that a remote store has. */
export function remoteOnly(store: Store): Store {
  const { takeSync: _, deleteSync: __, ...methods } = store as Store & { takeSync?: unknown; deleteSync?: unknown }
  return methods
}
