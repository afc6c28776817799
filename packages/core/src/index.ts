export type { Blocks } from './block.ts'
export { type StoreHealth, storeHealth } from './breaker.ts'
export { calendarWindow, perMonth } from './calendar-window.ts'
export { type ActualCosts, consumeAll } from './consume-all.ts'
export type { Costs } from './costs.ts'
export type { Decision, Degraded } from './decision.ts'
export { type DivideQuotaOptions, divideQuota } from './divide-quota.ts'
export { type ErrorCode, QuotaError, StoreError, type StoreFailure } from './errors.ts'
export type { FallbackLimiter, StoreErrorOption } from './failure-mode.ts'
export type { Inspection } from './inspect.ts'
export type { BucketStep } from './kernels/bucket.ts'
export type { BucketState, FractionalBucket, RefundedBucket } from './kernels/bucket-state.ts'
export type { BucketTaken } from './kernels/bucket-taken.ts'
export type { State, Step, Taken } from './kernels/kernel.ts'
export type { PenaltyState, PenaltyStep, PenaltyTaken } from './kernels/penalty.ts'
export type { RefillSchedule } from './kernels/refill-schedule.ts'
export type {
  SlidingLogState,
  SlidingLogStep,
  SlidingLogTaken,
} from './kernels/sliding-log.ts'
export type {
  Calendar,
  SlidingWindowState,
  SlidingWindowStep,
  SlidingWindowTaken,
  Starts,
} from './kernels/sliding-window.ts'
export type { WarmUpState, WarmUpStep, WarmUpTaken } from './kernels/warm-up.ts'
export { type LimitedStream, type LimitStreamOptions, limitStream } from './limit-stream.ts'
export { type RateLimiter, rateLimiter, type SyncRateLimiter } from './limiter.ts'
export type { RateLimiterOptions } from './limiter-options.ts'
export type { LimiterReports, NamedQuota } from './limiter-reports.ts'
export type { KeyList, ListedKey, ListOptions } from './list.ts'
export { penalty } from './penalty-quota.ts'
export {
  fixedWindow,
  leakyBucket,
  perDay,
  perHour,
  perMinute,
  perSecond,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from './quota.ts'
export type {
  CalendarUnit,
  CalendarWindowOptions,
  FixedWindowOptions,
  LeakyBucketOptions,
  PenaltyOptions,
  PeriodOptions,
  RateOptions,
  TokenBucketOptions,
  WarmingUpOptions,
  WindowOptions,
} from './quota-options.ts'
export type {
  BucketQuota,
  PenaltyQuota,
  Quota,
  SlidingLogQuota,
  SlidingWindowQuota,
  WarmUpQuota,
  ZonedPeriods,
} from './quota-types.ts'
export { RateLimitedError } from './rate-limited.ts'
export type { Reservation, ReserveOptions } from './reservation.ts'
export {
  type Deadline,
  isSync,
  type ListedState,
  type PreparedTake,
  type StateKey,
  type Store,
  type StoreScope,
  type SyncStore,
  type Take,
} from './store.ts'
export type { StoreOptions } from './store-config.ts'
export type { ThresholdEvent } from './thresholds.ts'
export { type Duration, type Micros, micros } from './time.ts'
export type { UpToDecision } from './up-to.ts'
export type { Signal, WaitOptions } from './wait.ts'
export type { Logger } from './warn.ts'
export { type DenyCacheOptions, withDenyCache } from './wrappers/deny-cache.ts'
export { withHashedKeys } from './wrappers/hashed-keys.ts'
export { type LeaseOptions, withLeases } from './wrappers/leases.ts'
export type { LeasingStore } from './wrappers/leasing.ts'
export {
  type SharedQuotaBounds,
  type SharedQuotaBoundsOptions,
  type SharedQuotaOptions,
  sharedQuotaBounds,
  withSharedQuota,
} from './wrappers/shared-quota.ts'
