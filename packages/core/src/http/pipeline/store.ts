import { checkLogger, type Logger } from '../../common/warn.ts'
import type { StoreConfig } from '../../policies/policy.ts'
import { storeOr } from '../../stores/default-store.ts'
import { checkIsStore, type Store } from '../../stores/store.ts'

/** The store of a limiter without features: a new one, which answers in the same tick. */
export function plainStore(options: object, defaultStore?: () => Store): StoreConfig {
  const logger = checkLogger((options as { readonly logger?: Logger }).logger)
  const store = storeOr(undefined, defaultStore as () => Store, logger)
  checkIsStore('store', store)
  return { store, logger } as StoreConfig
}
