export { steadyClock } from './clock.ts'
export { rateLimiter } from './limiter.ts'
export { type MemoryStoreOptions, memoryStore } from './store.ts'
