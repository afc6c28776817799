export { type StoreHealth, storeHealth } from './breaker.ts'
export { latestDeadline } from './deadline.ts'
export { decide } from './decide.ts'
export type { Decision } from './decision.ts'
export { digester, hasKnownHashes } from './digest.ts'
export { type DivideQuotaOptions as ShareOptions, divideQuota } from './divide-quota.ts'
export {
  type ErrorCode,
  formatValue as shown,
  QuotaError,
  StoreError,
  type StoreFailure,
  type WarningCode,
  withoutLink,
} from './errors.ts'
export type { FallbackLimiter, StoreErrorOption } from './failure-mode.ts'
export {
  type BucketOutcome,
  type BucketStep,
  type BucketTaken,
  type bucket as bucketKernel,
  LONGEST_STEP,
  MOST_RETURNED,
} from './kernels/bucket.ts'
export type { BucketState, FractionalBucket, RefundedBucket } from './kernels/bucket-state.ts'
export { type Earlies, type Fraction, MOST_SCALE } from './kernels/fraction.ts'
export { emptyAt, type Outcome, runKernel, type State, type Step, type Taken, takenOf } from './kernels/kernel.ts'
export { leastUsed, refillTime, unitTime } from './kernels/refill.ts'
export type { RefillSchedule as Grain } from './kernels/refill-schedule.ts'
export type {
  SlidingLogOutcome,
  SlidingLogState,
  SlidingLogStep,
  SlidingLogTaken,
} from './kernels/sliding-log.ts'
export type {
  SlidingWindowOutcome,
  SlidingWindowState,
  SlidingWindowStep,
  SlidingWindowTaken,
} from './kernels/sliding-window.ts'
export type { Start } from './kernels/start.ts'
export type { WarmUpOutcome, WarmUpState, WarmUpStep, WarmUpTaken } from './kernels/warm-up.ts'
export {
  consumeAll,
  type RateLimiter,
  type RateLimiterOptions,
  rateLimiter,
  type SyncRateLimiter,
} from './limiter.ts'
export type { Signal } from './long-timeout.ts'
export { checkOptions } from './options.ts'
export {
  type BucketQuota,
  type FixedWindowOptions,
  fixedWindow,
  type LeakyBucketOptions,
  leakyBucket,
  perDay,
  perHour,
  perMinute,
  perSecond,
  type Quota,
  type RateOptions,
  type SlidingLogQuota,
  type SlidingWindowQuota,
  slidingLog,
  slidingWindow,
  type TokenBucketOptions,
  tokenBucket,
  type WarmingUpOptions,
  type WarmUpQuota,
  type WindowOptions,
  warmingUp,
} from './quota.ts'
export { RateLimitedError } from './rate-limited.ts'
export type { Reservation, ReserveOptions } from './reservation.ts'
export {
  type Deadline,
  isSync,
  type PreparedTake,
  REMOTE_LOG_LIMIT,
  type StateKey,
  type Store,
  type StoreScope,
  type SyncStore,
  type Take,
} from './store.ts'
export type { StoreOptions } from './store-config.ts'
export { type Duration, LONGEST, type Micros, micros } from './time.ts'
export { sizesUpTo, type UpToDecision } from './up-to.ts'
export { type StepOptions as Terms, stepFor, type Verb } from './verbs.ts'
export type { WaitOptions } from './wait.ts'
export { type Logger, loggerOf, warnOnce } from './warn.ts'
export { type DenyCacheOptions, withDenyCache } from './wrappers/deny-cache.ts'
export { checkSecret, withHashedKeys } from './wrappers/hashed-keys.ts'
export { type LeaseOptions, type LeasingStore, withLeases } from './wrappers/leases.ts'
