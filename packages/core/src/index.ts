export { emptyAt, runKernel, takenOf } from './algorithms/algorithm.ts'
export { leakyBucket, perDay, perHour, perMinute, perSecond, tokenBucket } from './algorithms/bucket/token-bucket.ts'
export type { Decision, Degraded } from './algorithms/decision.ts'
export { type DivideQuotaOptions, divideQuota } from './algorithms/divide-quota.ts'
export { slidingLog } from './algorithms/log/sliding-log.ts'
export { penalty } from './algorithms/penalty/penalty.ts'
export type { PreparedTake } from './algorithms/prepared-take.ts'
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
} from './algorithms/quota-options.ts'
export type {
  BucketQuota,
  PenaltyQuota,
  Quota,
  SlidingLogQuota,
  SlidingWindowQuota,
  SlotsQuota,
  WarmUpQuota,
  ZonedPeriods,
} from './algorithms/quota-types.ts'
export { warmingUp } from './algorithms/warm-up/warming-up.ts'
export { calendarWindow, perMonth } from './algorithms/window/calendar-window.ts'
export { fixedWindow } from './algorithms/window/fixed-window.ts'
export { slidingWindow } from './algorithms/window/sliding-window.ts'
export { type ErrorCode, QuotaError, StoreError, type StoreFailure } from './common/errors.ts'
export type { Signal } from './common/signal.ts'
export { type Duration, type Micros, micros } from './common/time.ts'
export type { Logger } from './common/warn.ts'
export type { BucketState, FractionalBucket, RefundedBucket } from './kernels/bucket-state.ts'
export type { BucketTaken } from './kernels/bucket-taken.ts'
export type { BucketStep } from './kernels/bucket-types.ts'
export type { SentStep } from './kernels/calendar.ts'
export type { Outcome, State, Step, Taken } from './kernels/kernel.ts'
export { KERNELS, type Kernel } from './kernels/kernels.ts'
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
export type { SlotsState, SlotsStep, SlotsTaken } from './kernels/slots.ts'
export type { WarmUpState, WarmUpStep, WarmUpTaken } from './kernels/warm-up.ts'
export type { Blocks } from './limiter/block.ts'
export { type ActualCosts, consumeAll } from './limiter/consume-all.ts'
export type { Inspection } from './limiter/inspect.ts'
export { type LimitedStream, type LimitStreamOptions, limitStream } from './limiter/limit-stream.ts'
export { type RateLimiter, rateLimiter, type SyncRateLimiter } from './limiter/limiter.ts'
export type { QuotaByKey, QuotaOptions, RateLimiterOptions } from './limiter/limiter-options.ts'
export type { LimiterReports, NamedQuota } from './limiter/limiter-reports.ts'
export type { KeyList, ListedKey, ListOptions } from './limiter/list-types.ts'
export { RateLimitedError } from './limiter/rate-limited.ts'
export type { Reservation, ReserveOptions } from './limiter/reservation.ts'
export type { AcquireOptions, Slot, SlotHolder, SlotsQuotas } from './limiter/slot-holder.ts'
export type { UpToDecision } from './limiter/up-to.ts'
export type { WaitOptions } from './limiter/wait.ts'
export type { Costs } from './policies/costs.ts'
export type { FallbackLimiter, StoreErrorOption } from './policies/failure-mode.ts'
export type { StoreOptions } from './policies/store-config.ts'
export type { ThresholdEvent } from './policies/thresholds.ts'
export { type StoreHealth, storeHealth } from './remote/breaker.ts'
export { type RemoteStoreOptions, remoteStore } from './remote/remote-store.ts'
export type { Deadline, ListedState, StateKey, Store, StoreScope, SyncStore, Take } from './stores/store.ts'
export { isSync } from './stores/store-kinds.ts'
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
