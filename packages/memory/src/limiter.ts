import {
  rateLimiter as overStore,
  type Quota,
  type RateLimiter,
  type RateLimiterOptions,
  type SlotHolder,
  type SlotsQuotas,
  type Store,
  type SyncRateLimiter,
  type SyncStore,
} from '@spillway/core'
import { checkLimiterOptions, checkLogger, givenOptions, LIMITER_OPTIONS, storeOr } from '@spillway/core/internal'
import { memoryStore } from './store.ts'

/** Options of a limiter without its store. */
type Storeless = RateLimiterOptions extends infer Each ? (Each extends unknown ? Omit<Each, 'store'> : never) : never

/** The same of a limiter that has slots. */
type StorelessSlots<Q extends Readonly<Record<string, Quota>>> = SlotsQuotas<Q> &
  Omit<RateLimiterOptions, 'quota' | 'quotas' | 'spill' | 'store'>

/**
 * Builds a limiter with slots over a synchronous store. Default: an in-memory store of its own.
 * @throws `QuotaError` if an option is invalid
 */
export function rateLimiter<Q extends Readonly<Record<string, Quota>>>(
  options: StorelessSlots<Q> & { readonly store?: SyncStore | undefined },
): SyncRateLimiter & SlotHolder
/**
 * Builds a limiter with slots over a store that may be remote.
 * @throws `QuotaError` if an option is invalid
 */
export function rateLimiter<Q extends Readonly<Record<string, Quota>>>(
  options: StorelessSlots<Q> & { readonly store: Store | undefined },
): RateLimiter & SlotHolder
/**
 * Builds a limiter over a synchronous store. Default: an in-memory store of its own.
 * @throws `QuotaError` if an option is invalid
 */
export function rateLimiter(options: Storeless & { readonly store?: SyncStore | undefined }): SyncRateLimiter
/**
 * Builds a limiter over a store that may be remote.
 * @throws `QuotaError` if an option is invalid
 */
export function rateLimiter(options: Storeless & { readonly store: Store | undefined }): RateLimiter
export function rateLimiter(options: Storeless & { readonly store?: Store | undefined }): RateLimiter {
  checkLimiterOptions(options)
  const store = storeOr(options.store, memoryStore, checkLogger(options.logger))
  return overStore({ ...givenOptions(options, LIMITER_OPTIONS), store } as RateLimiterOptions)
}
