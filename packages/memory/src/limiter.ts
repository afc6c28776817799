import {
  rateLimiter as overStore,
  type RateLimiter,
  type RateLimiterOptions,
  type Store,
  type SyncRateLimiter,
  type SyncStore,
} from '@spillway/core'
import { memoryStore } from './store.ts'

/** Options of a limiter, with the store left to default. */
type Storeless = RateLimiterOptions extends infer Each ? (Each extends unknown ? Omit<Each, 'store'> : never) : never

/** Builds a limiter, over a memory store of its own unless given another. */
export function rateLimiter(options: Storeless & { readonly store?: SyncStore | undefined }): SyncRateLimiter
/** Builds a limiter over a store that is elsewhere, or may be. */
export function rateLimiter(options: Storeless & { readonly store: Store | undefined }): RateLimiter
export function rateLimiter(options: Storeless & { readonly store?: Store | undefined }): RateLimiter {
  const store = options?.store === undefined ? memoryStore() : options.store
  return overStore({ ...options, store } as RateLimiterOptions)
}
