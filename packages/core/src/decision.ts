import type { StoreFailure } from './errors.ts'

/** The answer to one request: a value, also when it is no. Spans of time are in milliseconds, to the microsecond. */
export interface Decision<Name extends string = string> {
  /** Whether the request may go on; from `peek`, whether it might. */
  readonly allowed: boolean
  /** The policy that speaks: the one that waits longest when refused, else the one with least left. */
  readonly policy: Name
  /** The most units that can be taken at once. */
  readonly limit: number
  /** Whole units that are left now. */
  readonly remaining: number
  /** Units that were asked for. */
  readonly cost: number
  /** When the same request would be allowed: 0 when it was, Infinity when it never can be. */
  readonly retryAfterMs: number
  /** When everything is back. */
  readonly resetAfterMs: number
  /** When there will be more left than `remaining`; 0 when nothing is missing. */
  readonly replenishAfterMs: number
  /** How long the request has to wait for its turn before it goes ahead; 0 unless it was taken ahead of time. */
  readonly delayMs: number
  /** The policies that refuse. */
  readonly violated: readonly Name[]
  /**
   * A store did not answer: what was done instead, the gravest where several did not. After `'local'`, `remaining` and
   * the waits are what this process has counted by itself; else they are no account of anything, unless another store's
   * policy speaks.
   */
  readonly degraded?: { readonly reason: StoreFailure; readonly action: 'local' | 'allow' | 'deny' | 'fallback' }
  /** Each policy's own answer, where there are several. */
  readonly policies?: readonly Decision<Name>[]
}
