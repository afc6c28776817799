export { type DurableObjectStoreOptions, durableObjectStore, type RateLimitsNamespace } from './store.ts'
