export {
  calendarWindow,
  consumeAll,
  type Decision,
  divideQuota,
  fixedWindow,
  leakyBucket,
  penalty,
  perDay,
  perHour,
  perMinute,
  perMonth,
  perSecond,
  type Quota,
  QuotaError,
  RateLimitedError,
  type Store,
  StoreError,
  sharedQuotaBounds,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
  withDenyCache,
  withLeases,
  withSharedQuota,
} from '@spillway/core'
export {
  type ByKey,
  type ByKeyOptions,
  ipKey,
  type KeyText,
  type PolicyOptions,
  type RequestDecision,
  settled,
} from '@spillway/core/http'
export { memoryStore, rateLimiter } from '@spillway/memory'
export { type RateLimit, type RateLimitOptions, rateLimit } from './rate-limit.ts'
export { decisionOf } from './reader.ts'
