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
export { decisionOf } from './decisions.ts'
export { type PolicyOverride, RateLimit, RateLimitDecision, SkipRateLimit } from './decorators.ts'
export { RateLimitException } from './exception.ts'
export { RateLimitFilter } from './filter.ts'
export { RateLimitGuard } from './guard.ts'
export { RateLimiter, type RateLimitOptions } from './limiter.ts'
export { RateLimitModule, type RateLimitModuleAsyncOptions } from './module.ts'
