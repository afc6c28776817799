export {
  calendarWindow,
  consumeAll,
  divideQuota,
  fixedWindow,
  leakyBucket,
  penalty,
  perDay,
  perHour,
  perMinute,
  perMonth,
  perSecond,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
export { steadyClock } from './clock.ts'
export { rateLimiter } from './limiter.ts'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './store.ts'
