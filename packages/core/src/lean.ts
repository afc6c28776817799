// What limiters have that only consume, and what other apps add to it, a function each.

export { perDay, perHour, perMinute, perSecond } from './algorithms/bucket/lean-rates.ts'
export type { RateOptions } from './algorithms/quota-options.ts'
export type { BucketQuota } from './algorithms/quota-types.ts'
export { rateLimiter } from './limiter/lean-limiter.ts'
export type { LeanLimiter, LeanLimiterOptions, SyncLeanLimiter } from './limiter/lean-limiter-types.ts'
export {
  block,
  charge,
  consumeUpTo,
  inspect,
  list,
  refund,
  replace,
  reserve,
  resetAll,
  unblock,
  wait,
} from './limiter/lean-verbs.ts'
export type { QuotaOf } from './limiter/quota-of.ts'
export { type RemoteStoreOptions, remoteStore } from './remote/remote-store.ts'
