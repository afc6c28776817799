export type { Store } from '@spillway/core'
export { type DurableObjectStoreOptions, durableObjectStore, type RateLimitsNamespace } from './store.ts'
