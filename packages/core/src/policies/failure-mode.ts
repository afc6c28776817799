import type { Decision } from '../algorithms/decision.ts'
import { invalidOption } from '../common/errors.ts'

/** A fallback limiter, which decides while a store does not answer; any `RateLimiter` is one. */
export interface FallbackLimiter {
  /** Consumes units if they are available. */
  consume(key: string, cost?: number): Promise<Decision>
  /** Returns the decision of `consume`, without consuming. */
  peek(key: string, cost?: number): Promise<Decision>
  /** Refunds units that it has consumed. */
  refund(key: string, cost?: number): Promise<Decision>
  /** Consumes units, even if they are not available. */
  charge(key: string, cost?: number): Promise<Decision>
}

/**
 * The failure mode: if the store does not answer, a request is counted against the same quota in this process, allowed,
 * denied (503, not 429: it is not the client's fault), decided by another limiter, or the error is thrown.
 */
export type StoreErrorOption = 'local' | 'allow' | 'deny' | 'throw' | FallbackLimiter

const MODES: readonly unknown[] = ['local', 'allow', 'deny', 'throw']

/** Checks a failure mode. */
export function checkStoreError(option: unknown): StoreErrorOption {
  if (MODES.includes(option)) return option as StoreErrorOption
  if (typeof option === 'object' && option !== null && 'consume' in option) return option as FallbackLimiter
  throw invalidOption("onStoreError must be 'local', 'allow', 'deny', 'throw' or a limiter to ask instead", option)
}
