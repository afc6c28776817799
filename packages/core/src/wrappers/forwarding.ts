import type { Micros } from '../common/time.ts'
import { remoteConfigOf, withRemoteConfig } from '../policies/store-config.ts'
import type { Deadline, ListedState, StateKey, Store, StoreScope } from '../stores/store.ts'
import { printableScope, scopeOf } from '../stores/store-kinds.ts'

// The methods that a wrapper has only if its store has them.

type Traits = Pick<Store, 'slotOf' | 'shardOf' | 'maxLogLimit' | 'checkQuota' | 'scope'>

/** The traits that a wrapper copies from its store; `keyInStore` returns the key that the store sees. */
export const storeTraits = (store: Store, keyInStore: (key: StateKey) => StateKey = (key) => key): Traits => {
  const traits: Traits = {
    scope: printed(scopeOf(store)),
    ...(store.slotOf && { slotOf: (key) => (store as Required<Store>).slotOf(keyInStore(key)) }),
    ...(store.shardOf && { shardOf: (key) => (store as Required<Store>).shardOf(keyInStore(key)) }),
    ...(store.maxLogLimit !== undefined && { maxLogLimit: store.maxLogLimit }),
    ...(store.checkQuota && { checkQuota: (quota) => store.checkQuota?.(quota) }),
  }
  return withRemoteConfig(traits, remoteConfigOf(store))
}

/** The scope of a store of others may show its client. */
const printed = (scope: StoreScope & { readonly kind?: string }): StoreScope =>
  printableScope(scope.kind ?? 'a store', scope.owner, scope.name)

/** The `deleteAll` of a wrapper, which calls that of its store within `around`; absent if the store has none. */
export const deletingAll = (
  store: Store,
  around: (policies: readonly string[], work: () => Promise<number>) => Promise<number> = (_, work) => work(),
): Pick<Store, 'deleteAll'> => {
  const { deleteAll } = store
  return deleteAll ? { deleteAll: (policies) => around(policies, () => deleteAll.call(store, policies)) } : {}
}

/** The `list` of a wrapper, which maps each state; absent if its store has none. */
export function listing(
  store: Store,
  shown: (state: ListedState) => ListedState = (state) => state,
): Pick<Store, 'list'> {
  const list = store.list?.bind(store)
  if (list === undefined) return {}
  return {
    async *list(policy, step) {
      for await (const states of list(policy, step)) yield states.map(shown)
    },
  }
}

type TakeEach = NonNullable<Store['takeEach']>

/** The `takeEach` of a wrapper, which calls that of its store within `around`; absent if the store has none. */
export const takingEach = (
  store: Store,
  around: (
    batches: Parameters<TakeEach>[0],
    at: Micros | undefined,
    deadline: Deadline | undefined,
    takeEach: TakeEach,
  ) => ReturnType<TakeEach>,
): Pick<Store, 'takeEach'> => {
  const takeEach = store.takeEach?.bind(store)
  return takeEach ? { takeEach: (batches, at, deadline) => around(batches, at, deadline, takeEach) } : {}
}
