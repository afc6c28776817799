import type { StoreFailure } from '../common/errors.ts'
import type { Taken } from '../kernels/kernel.ts'
import type { LookupAction } from './degraded-quota.ts'

/** Why a decision is not the one of a healthy system, and what was done instead. */
export interface Degraded {
  /** Why the store did not decide; `'lookup'` if the lookup of a plan failed, and the store has counted. */
  readonly reason: StoreFailure | 'lookup'
  /**
   * What was done instead: the failure mode, `'fallback'` for another limiter. After a failed lookup, which value chose the
   * quota: `'stale'` or `'default'`.
   */
  readonly action: 'local' | 'allow' | 'deny' | 'fallback' | LookupAction
}

/** The decision about one request. A denial is a value, not an error. Times are in milliseconds, with microsecond precision. */
export interface Decision<Name extends string = string> {
  /** Whether the request is allowed; from `peek`, whether it would be. */
  readonly allowed: boolean
  /**
   * The name of the policy whose numbers these are: of a denial the one with the longest wait, else the one with the fewest units
   * left.
   */
  readonly policy: Name
  /** The most units that can be consumed at once. */
  readonly limit: number
  /** Whole units left now. */
  readonly remaining: number
  /** Units of this request. */
  readonly cost: number
  /** Milliseconds until the same request would be allowed: 0 if it was allowed or the wait is not known, Infinity if it never is. */
  readonly retryAfterMs: number
  /** Milliseconds until the quota is full again; 0 if that is not known, too. */
  readonly resetAfterMs: number
  /** Milliseconds until `remaining` grows; 0 if the quota is full. */
  readonly replenishAfterMs: number
  /** Milliseconds the request has to wait for its turn; 0 unless its units were consumed ahead of time. */
  readonly delayMs: number
  /** The names of the policies that deny. */
  readonly violated: readonly Name[]
  /**
   * Set if a store did not answer: why, and what was done instead (the most severe, if several did not). After
   * `'local'`, `remaining` and the waits are this process's own counts. After other actions they are no measure of the
   * quota, unless a policy of another store governs. With the reason `'lookup'`, the store has counted, but the quota was
   * chosen by a `'stale'` or a `'default'` value, because a cached lookup failed.
   */
  readonly degraded?: Degraded
  /** The policies that were empty, so that their spill policies were checked instead. Absent if there are none. */
  readonly spilled?: readonly Name[]
  /** The decision of each policy, if there are several. */
  readonly policies?: readonly Decision<Name>[]
}

/** Turns the results of one step into decisions. A result is only read: a prepared take may reuse it. */
export type Decide<T extends Taken = Taken> = (taken: T) => Decision
