export {
  consumeAll,
  fixedWindow,
  leakyBucket,
  perDay,
  perHour,
  perMinute,
  perSecond,
  shareOf,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core'
export { steadyClock } from './clock.ts'
export { rateLimiter } from './limiter.ts'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './store.ts'
