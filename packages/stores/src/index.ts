export { compareAndSetStore } from './compare-and-set.ts'
export type {
  Attempt,
  CompareAndSetDriver,
  Driver,
  ExpiringRow,
  MaybePromise,
  StateRow,
  StoreBaseOptions,
  Transaction,
  TransactionalDriver,
  VersionedState,
} from './drivers.ts'
export { syncTransactionalStore, transactionalStore } from './transactional.ts'
