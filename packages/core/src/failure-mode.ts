import type { Decision } from './decision.ts'
import { formatValue, QuotaError } from './errors.ts'

/** A limiter that decides while a store does not answer; any `RateLimiter` is one. */
export interface FallbackLimiter {
  consume(key: string, cost?: number): Promise<Decision>
  peek(key: string, cost?: number): Promise<Decision>
  refund(key: string, cost?: number): Promise<Decision>
  charge(key: string, cost?: number): Promise<Decision>
}

/**
 * What to do with a request when the store does not answer: count it against the same quota in this process, allow it,
 * deny it (503, not 429: it is not the client's fault), ask another limiter, or throw the error.
 */
export type StoreErrorOption = 'local' | 'allow' | 'deny' | 'throw' | FallbackLimiter

const MODES: readonly unknown[] = ['local', 'allow', 'deny', 'throw']

/** Checks what is to be done when the store does not answer. */
export function checkStoreError(option: unknown): StoreErrorOption {
  if (MODES.includes(option)) return option as StoreErrorOption
  if (typeof option === 'object' && option !== null && 'consume' in option) return option as FallbackLimiter
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `onStoreError must be 'local', 'allow', 'deny', 'throw' or a limiter to ask instead; got ${formatValue(option)}.`,
  )
}
