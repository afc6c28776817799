// What every adapter exports beside its own names, so that an app needs one package.

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
export { rateLimiter } from './limiter.ts'
export { memoryStore } from './store.ts'
