export { steadyClock } from './clock.ts'
export { rateLimiter } from './limiter.ts'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './store.ts'
